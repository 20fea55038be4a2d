-- Functions live in db/functions from now on, one file each, and `greenroom migrate` applies a file
-- again whenever its text has changed. Migrations are for tables only.
--
-- The functions that earlier migrations made stay where they are until the files replace them, right
-- after this migration: triggers hang on some of them, and servers that run go on calling them.
create table schema_function (
    name text collate "C" primary key,
    -- Of the file that was applied last.
    sha256 text not null,
    applied_at timestamptz not null default now()
);
