-- The wall: row-level security by the caller's context. Policies hold for every role but the owner; grants (0005) say
-- which roles come as far as the wall. Security is enabled, not forced: the owner's narrow functions look past it.

-- Who is asking, as set for this transaction. '' is what SET LOCAL leaves behind and counts as nobody.
create function hermes_memory.ctx_theme() returns text language sql stable parallel safe
set search_path = pg_catalog, pg_temp as
$$ select nullif(current_setting('hermes_memory.theme', true), '') $$;

create function hermes_memory.ctx_subject() returns bytea language sql stable parallel safe
set search_path = pg_catalog, pg_temp as
$$ select decode(nullif(current_setting('hermes_memory.subject', true), ''), 'hex') $$;

-- The subjects whose rows the caller may see: its own, and others of the same person.
create function hermes_memory.ctx_subjects() returns bytea[] language sql stable parallel safe security definer
set search_path = pg_catalog, pg_temp as $$
  select case when me.subject is null then '{}'::bytea[] else array[me.subject] || array(
    select other.subject from hermes_memory.subject_members mine
      join hermes_memory.subject_members other on other.person = mine.person
     where mine.subject = me.subject and other.subject <> me.subject) end
  from (select decode(nullif(current_setting('hermes_memory.subject', true), ''), 'hex') as subject) as me
$$;

-- The themes whose subject-less rows the caller may read: its own, and by the read policy all ordinary ones or those
-- granted to it or to any subject of the caller's person. An open installation is open to agents among themselves: who
-- speaks with somebody, in a sink or as a subject, reads what was granted.
create function hermes_memory.ctx_themes() returns text[] language sql stable parallel safe security definer
set search_path = pg_catalog, pg_temp as $$
  select case when me.theme is null then '{}'::text[] else array[me.theme] || array(
    select a.agent_identity from hermes_memory.memory_agents a
     where me.read_policy = 'open' and me.alone and a.agent_identity <> me.theme
       and not exists (select from hermes_memory.sinks s where s.theme = a.agent_identity)
    union
    select g.source from hermes_memory.theme_grants g
     where (me.read_policy = 'grants' or (me.read_policy = 'open' and not me.alone))
       and (g.reader = me.theme or (g.subject <> '' and g.subject = any (me.subjects))) and g.source <> me.theme
       and (g.expires_at is null or g.expires_at > now())
       and not exists (select from hermes_memory.sinks s where s.theme = g.source)) end
  from (select c.theme, i.read_policy, hermes_memory.ctx_subjects() as subjects,
               c.subject is null and not exists (select from hermes_memory.sinks s where s.theme = c.theme) as alone
          from (select nullif(current_setting('hermes_memory.theme', true), '') as theme,
                       decode(nullif(current_setting('hermes_memory.subject', true), ''), 'hex') as subject) as c
          left join hermes_memory.installation i on true) as me
$$;

-- Puts the wall around a table with theme and subject: read what is visible, add, change and remove what is one's own.
-- The own theme is asked first, so that most reads need no list of the readable ones, which may be long. Each list is
-- made by a select of its own: once for a table, and not anew for each of its partitions. Called again it mends a wall
-- with a hole in it.
create function hermes_memory.raise_wall(guarded text) returns void language plpgsql
set search_path = pg_catalog, pg_temp as $$
declare
  part name;
begin
  foreach part in array array['wall_read', 'wall_add', 'wall_change', 'wall_remove'] loop
    execute format('drop policy if exists %I on hermes_memory.%I', part, guarded);
  end loop;
  execute format('alter table hermes_memory.%I enable row level security', guarded);
  execute format('alter table hermes_memory.%I no force row level security', guarded);
  execute format($p$create policy wall_read on hermes_memory.%I for select using
    (subject in (select unnest((select hermes_memory.ctx_subjects())))
     or (subject = '' and (agent_identity = (select hermes_memory.ctx_theme())
                           or agent_identity in (select unnest((select hermes_memory.ctx_themes()))))))$p$, guarded);
  execute format($p$create policy wall_add on hermes_memory.%I for insert with check
    (agent_identity = (select hermes_memory.ctx_theme())
     and (subject = '' or subject = (select hermes_memory.ctx_subject())))$p$, guarded);
  execute format($p$create policy wall_change on hermes_memory.%I for update using
    (agent_identity = (select hermes_memory.ctx_theme())
     and (subject = '' or subject = (select hermes_memory.ctx_subject())))$p$, guarded);
  execute format($p$create policy wall_remove on hermes_memory.%I for delete using
    (agent_identity = (select hermes_memory.ctx_theme())
     and (subject = '' or subject = (select hermes_memory.ctx_subject())))$p$, guarded);
  -- What a theme has forgotten is shown to nobody who may only read it. What is noted is new and whole: no seal is
  -- chosen, no erasure claimed and no time but the present one.
  if guarded = 'history' then
    alter policy wall_read on hermes_memory.history using
      (subject in (select unnest((select hermes_memory.ctx_subjects())))
       or (subject = '' and agent_identity = (select hermes_memory.ctx_theme())));
    alter policy wall_add on hermes_memory.history with check
      (agent_identity = (select hermes_memory.ctx_theme())
       and (subject = '' or subject = (select hermes_memory.ctx_subject()))
       and seal is null and erasure is null and salt is not null and change <> 'erased'
       and recorded_at between clock_timestamp() - make_interval(mins => 5)
                           and clock_timestamp() + make_interval(mins => 5));
  end if;
end $$;

select hermes_memory.raise_wall(guarded)
  from unnest(array['memory_entries', 'sessions', 'conversations', 'term_blocks', 'embedding_jobs', 'inbox',
                    'memory_agent_edges']) as guarded;

-- The registry has no subjects: one sees the themes one may read and keeps one's own line.
alter table hermes_memory.memory_agents enable row level security;
create policy wall_read on hermes_memory.memory_agents for select
  using (agent_identity in (select unnest(hermes_memory.ctx_themes())));
create policy wall_add on hermes_memory.memory_agents for insert
  with check (agent_identity = (select hermes_memory.ctx_theme()));
create policy wall_change on hermes_memory.memory_agents for update
  using (agent_identity = (select hermes_memory.ctx_theme()));

-- Nobody but the owner has business here; without a policy the wall lets nothing through, whatever is granted later.
alter table hermes_memory.seals enable row level security;
alter table hermes_memory.theme_grants enable row level security;
alter table hermes_memory.subject_members enable row level security;
alter table hermes_memory.memory_maintenance_log enable row level security;

-- What a theme holds, as far as the reader may see it.
create view hermes_memory.v_agent_memory with (security_invoker = true) as
select a.agent_identity, a.first_seen_at, a.last_seen_at, e.entries, s.sessions, c.turns, d.delegations, d.last_child
  from hermes_memory.memory_agents a
 cross join lateral (select count(*) as entries from hermes_memory.memory_entries m
                      where m.agent_identity = a.agent_identity) e
 cross join lateral (select count(*) as sessions from hermes_memory.sessions n
                      where n.agent_identity = a.agent_identity) s
 cross join lateral (select count(*) as turns from hermes_memory.conversations t
                      where t.agent_identity = a.agent_identity) c
 cross join lateral (select count(*) as delegations,
                            (array_agg(g.child_identity order by g.created_at desc))[1] as last_child
                       from hermes_memory.memory_agent_edges g where g.agent_identity = a.agent_identity) d;

-- Entries and turns in one shape, for whoever reads both.
create view hermes_memory.memory_rows with (security_invoker = true) as
select 'entry'::text as kind, e.agent_identity, e.id, e.subject, e.target, e.content, e.said_at as at, e.updated_at,
       e.origin, e.session_id, e.source, e.metadata, null::text as role, null::text as speaker, null::int as position,
       e.lex_key, e.operation, e.tool
  from hermes_memory.memory_entries e
union all
select 'turn'::text, c.agent_identity, c.id, c.subject, null::text collate "C", c.content, c.ts, c.created_at,
       c.origin, c.session_id, null::text, c.metadata, c.role, c.speaker, c.position, c.lex_key, c.operation,
       null::text
  from hermes_memory.conversations c;

-- The same rows as the text index sees them.
create view hermes_memory.memory_documents with (security_invoker = true) as
select e.agent_identity, e.id, e.subject, e.target as shelf, e.session_id, e.lex, e.lex_key, e.lex_length
  from hermes_memory.memory_entries e
union all
select c.agent_identity, c.id, c.subject, 'turn'::text collate "C", c.session_id, c.lex, c.lex_key, c.lex_length
  from hermes_memory.conversations c;

-- How often a lexeme occurs in a document, 0 to 5, where 5 stands for more as well: reads back what ts_rank makes of
-- 1, 2, 3, 4, ... occurrences (.61, .76, .83, .87, ... the partial sums of 1/n² over their limit).
create function hermes_memory.term_frequency(lex tsvector, term tsquery) returns int
language sql immutable strict parallel safe
return width_bucket(ts_rank('{1,1,1,1}'::real[], lex, term)::double precision, array[.01, .7, .79, .85, .88]::float8[]);

-- The query for exactly this lexeme, whatever characters it is made of.
create function hermes_memory.term_query(lexeme text) returns tsquery
language sql immutable strict parallel safe
return ('''' || replace(replace(lexeme, '\', '\\'), '''', '''''') || '''')::tsquery;
