-- The wall: row-level security by the caller's context, and the few functions that may look past it.
-- The runtime role's name is in the transaction-local setting hermes_memory.runtime_role.

-- Who is asking, as set for this transaction. '' is what SET LOCAL leaves behind and counts as nobody.
create function hermes_memory.ctx_theme() returns text language sql stable parallel safe
set search_path = pg_catalog, pg_temp as
$$ select nullif(current_setting('hermes_memory.theme', true), '') $$;

create function hermes_memory.ctx_subject() returns bytea language sql stable parallel safe
set search_path = pg_catalog, pg_temp as
$$ select decode(nullif(current_setting('hermes_memory.subject', true), ''), 'hex') $$;

-- The themes whose subject-less rows the caller may read: its own, and by the read policy all ordinary ones or those
-- granted to it.
create function hermes_memory.ctx_themes() returns text[] language sql stable parallel safe security definer
set search_path = pg_catalog, pg_temp as $$
  select case when me.theme is null then '{}'::text[] else array[me.theme] || array(
    select a.agent_identity from hermes_memory.memory_agents a
     where me.read_policy = 'open' and a.agent_identity <> me.theme
       and not exists (select from hermes_memory.sinks s where s.theme = a.agent_identity)
    union all
    select g.source from hermes_memory.theme_grants g
     where me.read_policy = 'grants' and g.reader = me.theme and (g.expires_at is null or g.expires_at > now())
       and not exists (select from hermes_memory.sinks s where s.theme = g.source)) end
  from (select nullif(current_setting('hermes_memory.theme', true), '') as theme,
               (select i.read_policy from hermes_memory.installation i) as read_policy) as me
$$;

-- Puts the wall around a table: read what is visible, add, change and remove what is one's own.
create function hermes_memory.raise_wall(guarded text, runtime_role text, rights text) returns void language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  execute format('alter table hermes_memory.%I enable row level security', guarded);
  execute format($p$create policy wall_read on hermes_memory.%I for select to %I using
    (subject = (select hermes_memory.ctx_subject())
     or (subject = '' and agent_identity in (select unnest(hermes_memory.ctx_themes()))))$p$, guarded, runtime_role);
  execute format($p$create policy wall_add on hermes_memory.%I for insert to %I with check
    (agent_identity = (select hermes_memory.ctx_theme())
     and (subject = '' or subject = (select hermes_memory.ctx_subject())))$p$, guarded, runtime_role);
  execute format($p$create policy wall_change on hermes_memory.%I for update to %I using
    (agent_identity = (select hermes_memory.ctx_theme())
     and (subject = '' or subject = (select hermes_memory.ctx_subject())))$p$, guarded, runtime_role);
  execute format($p$create policy wall_remove on hermes_memory.%I for delete to %I using
    (agent_identity = (select hermes_memory.ctx_theme())
     and (subject = '' or subject = (select hermes_memory.ctx_subject())))$p$, guarded, runtime_role);
  execute format('grant %s on hermes_memory.%I to %I', rights, guarded, runtime_role);
end $$;
