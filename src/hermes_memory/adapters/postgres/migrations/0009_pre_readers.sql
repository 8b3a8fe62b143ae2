-- For who watches the memory and has no business with what is in it: a role that cannot log in, to be granted to the
-- login of a dashboard. It learns numbers, by theme and over all, and never a content, a subject or a session.

-- Turns are counted one by one: the next place of a session tells how many there were before some were pruned.
create function hermes_memory.theme_counts()
returns table (theme text, governed boolean, entries bigint, turns bigint, sessions bigint, subjects bigint,
               first_seen_at timestamptz, last_seen_at timestamptz)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  with held as (
    select e.agent_identity as theme, e.subject, count(*) as entries, 0::bigint as sessions, 0::bigint as turns
      from hermes_memory.memory_entries e group by 1, 2
     union all
    select s.agent_identity, s.subject, 0, count(*), 0 from hermes_memory.sessions s group by 1, 2
     union all
    select c.agent_identity, c.subject, 0, 0, count(*) from hermes_memory.conversations c group by 1, 2)
  select a.agent_identity, g.theme is not null, coalesce(sum(h.entries), 0)::bigint, coalesce(sum(h.turns), 0)::bigint,
         coalesce(sum(h.sessions), 0)::bigint, count(distinct h.subject) filter (where h.subject <> ''),
         a.first_seen_at, a.last_seen_at
    from hermes_memory.memory_agents a
    left join hermes_memory.sinks g on g.theme = a.agent_identity
    left join held h on h.theme = a.agent_identity
   group by a.agent_identity, g.theme, a.first_seen_at, a.last_seen_at
   order by a.agent_identity
$$;

-- Run by every migration, like admit_runtime.
create function hermes_memory.admit_readonly(readonly_role text) returns void language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  execute format('grant usage on schema hermes_memory to %I', readonly_role);
  execute format('grant select on hermes_memory.installation, hermes_memory.schema_migrations,
                  hermes_memory.embedding_models, hermes_memory.sinks to %I', readonly_role);
  execute format('grant execute on function hermes_memory.theme_counts(), hermes_memory.store_counts(),
                  hermes_memory.embedding_backlog(int), hermes_memory.generation_standing(),
                  hermes_memory.seal_lag() to %I', readonly_role);
end $$;
