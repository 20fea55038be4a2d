-- People, as the marketplace's backend describes them. Ids are the marketplace's own and opaque;
-- "C" compares them as bytes, which is the order that locks are taken in.
CREATE TABLE app_user (
    user_id      text COLLATE "C" PRIMARY KEY,
    display_name text NOT NULL DEFAULT '',
    avatar_url   text,
    roles        text[] NOT NULL DEFAULT '{}',
    timezone     text,
    locale       text,
    verified     boolean NOT NULL DEFAULT false,
    age_verified boolean NOT NULL DEFAULT false,
    created_at   timestamptz NOT NULL,
    updated_at   timestamptz NOT NULL
);

-- The backend's keys. The text of a key is shown once; only its SHA-256 is here.
CREATE TABLE api_key (
    key_id       text COLLATE "C" PRIMARY KEY,
    name         text NOT NULL,
    hash         bytea NOT NULL UNIQUE,
    created_at   timestamptz NOT NULL,
    revoked_at   timestamptz,
    last_used_at timestamptz
);
