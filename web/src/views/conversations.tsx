// The list of conversations: search, filter by agent, live.
import {useEffect, useRef, useState} from 'preact/hooks';
import {address, listAgents, listConversations} from '../api';
import {bytes, count, counted} from '../format';
import {navigate, to, usePlace} from '../router';
import type {Conversation} from '../types';
import {Empty, Icon, Link, Loading, Name, Problem, Time, useLoad} from '../ui';

interface State {
  list: Conversation[] | null;
  next: string | null;
  problem: unknown;
}

const PAGE = 50;

const merge = (list: Conversation[], news: Conversation[]) => {
  const byId = new Map(list.map(entry => [entry.conversation_id, entry]));
  news.forEach(entry => byId.set(entry.conversation_id, entry));
  return [...byId.values()].sort((a, b) => (a.active_at < b.active_at ? 1 : a.active_at > b.active_at ? -1 : 0));
};

const matches = (entry: Conversation, q: string, agent: string) =>
  (!agent || entry.agent === agent) &&
  (!q ||
    entry.conversation_id.toLowerCase().includes(q.toLowerCase()) ||
    (entry.agent ?? '').toLowerCase().includes(q.toLowerCase()));

/** The list, kept up to date by events of the project. */
function useConversations(q: string, agent: string) {
  const [state, setState] = useState<State>({list: null, next: null, problem: null});
  const [live, setLive] = useState(false);
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    let over = false;
    const load = async () => {
      try {
        const page = await listConversations({q, agent, limit: PAGE});
        if (!over) setState({list: page.conversations, next: page.next, problem: null});
      } catch (problem) {
        if (!over) setState(before => ({...before, problem}));
      }
    };
    setState(before => ({...before, problem: null}));
    const source = new EventSource(address('/v1/events'));
    source.addEventListener('open', () => {
      if (!over) {
        setLive(true);
        void load();
      }
    });
    source.addEventListener('error', () => {
      if (!over) setLive(false);
    });
    source.addEventListener('conversation', event => {
      const entry = JSON.parse((event as MessageEvent).data) as Conversation;
      if (!over && matches(entry, q, agent))
        setState(before => (before.list ? {...before, list: merge(before.list, [entry])} : before));
    });
    source.addEventListener('end', event => {
      const {conversation_id: id} = JSON.parse((event as MessageEvent).data) as Conversation;
      if (!over)
        setState(before => ({...before, list: before.list?.filter(entry => entry.conversation_id !== id) ?? null}));
    });
    void load();
    // Without the stream, the list is asked for again and again.
    const timer = setInterval(() => {
      if (source.readyState !== EventSource.OPEN && !document.hidden) void load();
    }, 5000);
    return () => {
      over = true;
      clearInterval(timer);
      source.close();
    };
  }, [q, agent, turn]);
  const more = async () => {
    try {
      const page = await listConversations({q, agent, limit: PAGE, after: state.next ?? undefined});
      setState(before => ({list: merge(before.list ?? [], page.conversations), next: page.next, problem: null}));
    } catch (problem) {
      setState(before => ({...before, problem}));
    }
  };
  return {...state, live, more, reload: () => setTurn(n => n + 1)};
}

const Row = ({entry}: {entry: Conversation}) => (
  <li>
    <Link to={to('conversations', entry.conversation_id)} class="row">
      <span class="row-title">
        <Name text={entry.conversation_id} />
      </span>
      <span class="row-agent">
        {entry.agent ? (
          <span class="chip">
            <Icon name="agents" />
            <Name text={entry.agent} />
          </span>
        ) : (
          <span class="quiet">no agent</span>
        )}
      </span>
      <span class="row-number">{counted(entry.run_count, 'run')}</span>
      <span class="row-number">
        {entry.file_count ? counted(entry.file_count, 'file') : <span class="quiet">no files</span>}
      </span>
      <span class="row-number row-size">{bytes(entry.bytes)}</span>
      <span class="row-time">
        <Time at={entry.active_at} />
      </span>
    </Link>
  </li>
);

function Nothing({filtered}: {filtered: boolean}) {
  if (filtered)
    return (
      <Empty icon="search" title="Nothing matches">
        <p>No conversation has this in its name or its agent's.</p>
        <button type="button" onClick={() => navigate('/conversations', true)}>
          Show all conversations
        </button>
      </Empty>
    );
  return (
    <Empty icon="conversations" title="No conversations yet">
      <p>
        A conversation begins with its first run that carries a <code>conversation_id</code>, and is kept for a day
        after its last one.
      </p>
      <Link to="/playground" class="button primary">
        Try one in the playground
      </Link>
    </Empty>
  );
}

export function Conversations() {
  const place = usePlace();
  const q = place.query.get('q') ?? '',
    agent = place.query.get('agent') ?? '';
  const agents = useLoad(listAgents, []);
  const {list, next, problem, live, more, reload} = useConversations(q, agent);
  const timer = useRef<ReturnType<typeof setTimeout>>();
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (field.current && document.activeElement !== field.current) field.current.value = q;
  }, [q]);
  const go = (fields: {q: string; agent: string}) => {
    const query = new URLSearchParams();
    if (fields.q) query.set('q', fields.q);
    if (fields.agent) query.set('agent', fields.agent);
    navigate('/conversations' + (query.size ? '?' + query : ''), true);
  };
  const search = (event: Event) => {
    const text = (event.target as HTMLInputElement).value.trim();
    clearTimeout(timer.current);
    timer.current = setTimeout(() => go({q: text, agent}), 250);
  };
  const names = (agents.value ?? []).map(entry => entry.name);
  if (agent && !names.includes(agent)) names.push(agent);
  return (
    <>
      <div class="head">
        <h1>Conversations</h1>
        <span class={'live' + (live ? ' on' : '')} role="status">
          {live ? 'Live' : 'Connecting…'}
        </span>
      </div>
      <div class="filters" role="search">
        <label class="search">
          <span class="unseen">Search by name or agent</span>
          <Icon name="search" />
          <input ref={field} type="search" defaultValue={q} placeholder="Search by name or agent" onInput={search} />
        </label>
        <label>
          <span class="unseen">Agent</span>
          <select value={agent} onChange={event => go({q, agent: (event.target as HTMLSelectElement).value})}>
            <option value="">All agents</option>
            {names.map(name => (
              <option value={name}>{name}</option>
            ))}
          </select>
        </label>
      </div>
      {problem != null && <Problem problem={problem} retry={reload} />}
      {!list && problem == null && <Loading what="Loading conversations" />}
      {list?.length === 0 && <Nothing filtered={Boolean(q || agent)} />}
      {list && list.length > 0 && (
        <>
          <ul class="rows conversations" aria-label="Conversations">
            {list.map(entry => (
              <Row key={entry.conversation_id} entry={entry} />
            ))}
          </ul>
          <p class="foot quiet">
            {next
              ? `${count(list.length)} shown, latest first. `
              : `${counted(list.length, 'conversation')}, latest first.`}
            {next && (
              <button type="button" onClick={more}>
                Show more
              </button>
            )}
          </p>
        </>
      )}
    </>
  );
}
