-- Who may talk in a job, as the marketplace's backend has said.
create table job (
    job_id text collate "C" primary key,
    participants text[] collate "C" not null,
    created_at timestamptz not null,
    updated_at timestamptz not null
);
