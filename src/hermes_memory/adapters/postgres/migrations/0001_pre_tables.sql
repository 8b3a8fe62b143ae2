-- Tables of the memory. Run by the migrator as the owner role, with the wanted number of hash partitions in the
-- transaction-local setting hermes_memory.partitions.
--
-- Rules every row-bearing table keeps (docs/decisions): partitioned by agent_identity; every key holds it, and every
-- natural key holds the subject, so that nobody's words decide whether another's are kept; '' means no subject; rows
-- in a sink carry a subject; ids are made by the library from the operation, never by a sequence; no triggers, no
-- foreign keys. Ids lead their primary keys, so that a row is found by its id alone as well as within its theme.

create table hermes_memory.installation (
  only_row boolean primary key default true check (only_row),
  partitions int not null check (partitions between 1 and 256),
  read_policy text not null default 'open' check (read_policy in ('open', 'grants', 'own')),
  active_generation int,
  -- How many embedding generations there ever were. A number is given once: who still means a dropped one finds none.
  generations_made int not null default 0,
  -- How long what was forgotten keeps its texts. One number for all who share the database: nobody's settings but the
  -- owner's shorten what others may still bring back.
  forgotten_days double precision not null default 30 check (forgotten_days between 0 and 36500),
  -- When something was erased last. Whoever keeps what came before that in memory asks for it before showing it.
  erased_at timestamptz,
  installed_at timestamptz not null default now()
);
insert into hermes_memory.installation (partitions) values (current_setting('hermes_memory.partitions')::int);

create table hermes_memory.sinks (theme text collate "C" primary key);
insert into hermes_memory.sinks values ('whatsapp-dm'), ('external-group'), ('_bench');

-- Who else may read a theme: another theme, or somebody in whatever theme they speak. A sink is neither read nor
-- reader: what is granted to one would be granted to everybody in it.
create table hermes_memory.theme_grants (
  reader text collate "C" not null default '',
  subject bytea not null default '' check (octet_length(subject) in (0, 32)),
  source text collate "C" not null check (source <> ''),
  expires_at timestamptz,
  granted_at timestamptz not null default now(),
  granted_by text not null default session_user,
  primary key (reader, subject, source),
  constraint granted_to_a_theme_or_to_somebody check ((reader = '') <> (octet_length(subject) = 0)),
  constraint sinks_are_never_granted check (source not in ('whatsapp-dm', 'external-group', '_bench')),
  constraint sinks_are_granted_nothing check (reader not in ('whatsapp-dm', 'external-group', '_bench'))
);

-- Subjects that are one person, as an operator has said. Rows keep their subjects: it can be taken back.
create table hermes_memory.subject_members (
  subject bytea primary key check (octet_length(subject) = 32),
  person uuid not null,
  joined_at timestamptz not null default now(),
  joined_by text not null default session_user
);
create index subject_members_person on hermes_memory.subject_members (person);

create table hermes_memory.embedding_models (
  generation int primary key check (generation > 0),
  model text not null check (model <> ''),
  dimension int not null check (dimension between 1 and 4000),
  -- the longest parts that texts are cut into for it, in estimated tokens; null leaves it to each who embeds
  part_tokens int check (part_tokens >= 16),
  -- whether rows that are stored from now on wait for a vector of this generation
  fed boolean not null default true,
  unrelated_cosine double precision,
  related_cosine double precision,
  created_at timestamptz not null default now(),
  -- when it was last taken into use
  activated_at timestamptz,
  unique nulls not distinct (model, dimension, part_tokens)
);

-- The registry of themes: a theme exists once something was stored under it.
create table hermes_memory.memory_agents (
  agent_identity text collate "C" primary key check (agent_identity <> ''),
  first_seen_at timestamptz not null,
  last_seen_at timestamptz not null,
  metadata jsonb not null default '{}'
);

-- Makes the hash partitions of a table, each with the storage parameters, which a partitioned table cannot have itself.
create function hermes_memory.make_partitions(parent text, storage text default '') returns void language plpgsql
set search_path = pg_catalog, pg_temp as $$
declare
  wanted int := (select partitions from hermes_memory.installation);
begin
  for i in 0 .. wanted - 1 loop
    execute format(
      'create table hermes_memory.%I partition of hermes_memory.%I for values with (modulus %s, remainder %s) %s',
      parent || '_p' || i, parent, wanted, i, storage);
  end loop;
end $$;

create table hermes_memory.memory_entries (
  agent_identity text collate "C" not null check (agent_identity <> ''),
  id uuid not null,
  subject bytea not null default '' check (octet_length(subject) in (0, 32)),
  target text collate "C" not null check (target in ('memory', 'user')),
  content text not null check (content <> ''),
  content_hash bytea not null check (octet_length(content_hash) = 32),
  origin text not null,
  tool text,
  session_id text,
  source text,
  metadata jsonb not null default '{}',
  said_at timestamptz not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  operation uuid not null,
  lex tsvector not null,
  lex_key bigint not null,
  lex_length int not null,
  primary key (id, agent_identity),
  unique (agent_identity, subject, target, content_hash),
  constraint sink_rows_have_a_subject
    check (octet_length(subject) = 32 or agent_identity not in ('whatsapp-dm', 'external-group', '_bench'))
) partition by hash (agent_identity);
create index memory_entries_recent on hermes_memory.memory_entries (agent_identity, updated_at desc);
create index memory_entries_lex_key on hermes_memory.memory_entries (agent_identity, lex_key);
create index memory_entries_newest on hermes_memory.memory_entries (agent_identity, subject, lex_key);
create index memory_entries_subject on hermes_memory.memory_entries (subject) where subject <> '';
create index memory_entries_source on hermes_memory.memory_entries (source, agent_identity) where source is not null;
create index memory_entries_session on hermes_memory.memory_entries (agent_identity, session_id)
  where session_id is not null;
select hermes_memory.make_partitions('memory_entries');

-- Turns of a session are numbered here, under the lock of its row, and take their places in the text index from
-- stretches of 64: lex_number names the stretch in use, lex_used tells how much of it is taken. `forgotten` holds the
-- marks of turns that were forgotten, 32 bytes each, so that a transcript handed in again does not bring them back.
-- `tally` is what the hashes of the turns that stand come to, bit by bit: each that comes or goes turns it by its own,
-- so that one which goes, or comes, past the library is missed.
create table hermes_memory.sessions (
  agent_identity text collate "C" not null check (agent_identity <> ''),
  subject bytea not null default '' check (octet_length(subject) in (0, 32)),
  session_id text not null check (session_id <> ''),
  parent_session_id text,
  turns int not null default 0,
  lex_number bigint not null default 0,
  lex_used int not null default 64,
  forgotten bytea not null default '' check (octet_length(forgotten) % 32 = 0),
  tally bit(256) not null default 0::bit(256),
  started_at timestamptz not null,
  last_at timestamptz not null,
  primary key (agent_identity, subject, session_id),
  constraint sink_rows_have_a_subject
    check (octet_length(subject) = 32 or agent_identity not in ('whatsapp-dm', 'external-group', '_bench'))
) partition by hash (agent_identity);
select hermes_memory.make_partitions('sessions');

create table hermes_memory.conversations (
  agent_identity text collate "C" not null check (agent_identity <> ''),
  id uuid not null,
  subject bytea not null default '' check (octet_length(subject) in (0, 32)),
  session_id text not null check (session_id <> ''),
  parent_session_id text,
  position int not null check (position >= 0),
  role text not null check (role in ('user', 'assistant', 'system', 'tool')),
  speaker text,
  content text not null check (content <> ''),
  content_hash bytea not null check (octet_length(content_hash) = 32),
  occurrence int not null default 0 check (occurrence >= 0),
  origin text not null,
  embed boolean not null default true,
  metadata jsonb not null default '{}',
  ts timestamptz not null,
  created_at timestamptz not null,
  operation uuid not null,
  -- What was stored, in one number (0007): nobody changes a turn, and who does all the same is found.
  row_hash bytea not null check (octet_length(row_hash) = 32),
  lex tsvector not null,
  lex_key bigint not null,
  lex_length int not null,
  primary key (id, agent_identity),
  unique (agent_identity, subject, session_id, role, content_hash, occurrence),
  constraint sink_rows_have_a_subject
    check (octet_length(subject) = 32 or agent_identity not in ('whatsapp-dm', 'external-group', '_bench'))
) partition by hash (agent_identity);
create index conversations_session on hermes_memory.conversations (agent_identity, session_id, position);
create index conversations_lex_key on hermes_memory.conversations (agent_identity, lex_key);
create index conversations_recent on hermes_memory.conversations (agent_identity, ts desc);
create index conversations_subject on hermes_memory.conversations (subject) where subject <> '';
select hermes_memory.make_partitions('conversations');

-- The text index: impact-ordered blocks of up to 240 postings of one lexeme, written by INSERT alone, so that no two
-- writers meet. A posting removed takes its block with it, and the rest comes back as a new one. Entries are shelved by
-- target, so that a search of one target has statistics of its own. Lexeme '' is the statistics block: n rows more (or
-- fewer), packed = {sum of their lengths}.
create table hermes_memory.term_blocks (
  agent_identity text collate "C" not null check (agent_identity <> ''),
  shelf text collate "C" not null check (shelf in ('memory', 'user', 'turn')),
  subject bytea not null default '' check (octet_length(subject) in (0, 32)),
  lexeme text collate "C" not null,
  hi real not null,
  id bigint generated by default as identity,
  n int not null check (n <> 0),
  packed bigint[] not null,
  primary key (agent_identity, shelf, subject, lexeme, hi, id) include (n),
  constraint sink_rows_have_a_subject
    check (octet_length(subject) = 32 or agent_identity not in ('whatsapp-dm', 'external-group', '_bench'))
) partition by hash (agent_identity);
-- How much of a theme, and in which themes a subject, there is.
create index term_blocks_statistics on hermes_memory.term_blocks (subject, agent_identity, shelf) include (n)
  where lexeme = '';
-- Frequencies are read from the index alone as long as the visibility map is fresh.
select hermes_memory.make_partitions(
  'term_blocks', 'with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05)');
-- Numbers sessions (in stretches of turns) and entry versions within the text index; never shown to a caller.
create sequence hermes_memory.lex_numbers as bigint maxvalue 2147483647;

create table hermes_memory.embedding_jobs (
  agent_identity text collate "C" not null check (agent_identity <> ''),
  row_id uuid not null,
  generation int not null,
  subject bytea not null default '' check (octet_length(subject) in (0, 32)),
  kind text collate "C" not null check (kind in ('entry', 'turn')),
  content_hash bytea not null check (octet_length(content_hash) = 32),
  attempts int not null default 0,
  not_before timestamptz not null,
  parked_reason text,
  primary key (agent_identity, row_id, generation),
  constraint sink_rows_have_a_subject
    check (octet_length(subject) = 32 or agent_identity not in ('whatsapp-dm', 'external-group', '_bench'))
) partition by hash (agent_identity);
create index embedding_jobs_due on hermes_memory.embedding_jobs (generation, attempts, not_before)
  where parked_reason is null;
select hermes_memory.make_partitions('embedding_jobs');

-- Operations that had their effect: a replay finds its row here and does nothing. `changed` says that history tells of
-- it, so that a change which is gone before it was sealed is missed.
create table hermes_memory.inbox (
  agent_identity text collate "C" not null check (agent_identity <> ''),
  operation uuid not null,
  subject bytea not null default '' check (octet_length(subject) in (0, 32)),
  effect text not null,
  row_id uuid,
  changed boolean not null default false,
  applied_at timestamptz not null default now(),
  primary key (agent_identity, operation),
  constraint sink_rows_have_a_subject
    check (octet_length(subject) = 32 or agent_identity not in ('whatsapp-dm', 'external-group', '_bench'))
) partition by hash (agent_identity);
select hermes_memory.make_partitions('inbox');

create table hermes_memory.memory_agent_edges (
  agent_identity text collate "C" not null check (agent_identity <> ''),
  id uuid not null,
  subject bytea not null default '' check (octet_length(subject) in (0, 32)),
  parent_session_id text,
  child_identity text,
  child_session_id text,
  task text not null default '',
  result text not null default '',
  created_at timestamptz not null,
  primary key (agent_identity, id),
  constraint sink_rows_have_a_subject
    check (octet_length(subject) = 32 or agent_identity not in ('whatsapp-dm', 'external-group', '_bench'))
) partition by hash (agent_identity);
create index memory_agent_edges_sessions on hermes_memory.memory_agent_edges (agent_identity, parent_session_id);
select hermes_memory.make_partitions('memory_agent_edges');

-- One row per change of an entry. row_hash = sha256(salt || canonical form); the salt goes when the text is erased, so
-- that an erased text cannot be guessed from its hash.
create table hermes_memory.history (
  agent_identity text collate "C" not null check (agent_identity <> ''),
  id uuid not null,
  subject bytea not null default '' check (octet_length(subject) in (0, 32)),
  row_id uuid not null,
  change text not null check (change in ('added', 'replaced', 'removed', 'erased')),
  target text not null,
  old_content text,
  new_content text,
  origin text not null,
  tool text,
  session_id text,
  operation uuid not null,
  reason text,
  at timestamptz not null,
  salt bytea,
  row_hash bytea not null check (octet_length(row_hash) = 32),
  seal bigint,
  primary key (agent_identity, id),
  constraint sink_rows_have_a_subject
    check (octet_length(subject) = 32 or agent_identity not in ('whatsapp-dm', 'external-group', '_bench'))
) partition by hash (agent_identity);
create index history_row on hermes_memory.history (agent_identity, row_id, at);
create index history_unsealed on hermes_memory.history (agent_identity, id) where seal is null;
select hermes_memory.make_partitions('history');

create table hermes_memory.seals (
  agent_identity text collate "C" not null check (agent_identity <> ''),
  seal bigint not null,
  n int not null,
  root bytea not null check (octet_length(root) = 32),
  prev bytea not null,
  chained bytea not null check (octet_length(chained) = 32),
  at timestamptz not null,
  primary key (agent_identity, seal)
) partition by hash (agent_identity);
select hermes_memory.make_partitions('seals');

create table hermes_memory.memory_maintenance_log (
  id uuid primary key,
  at timestamptz not null default now(),
  actor text not null default session_user,
  verb text not null,
  detail jsonb not null default '{}',
  affected bigint not null default 0
);
