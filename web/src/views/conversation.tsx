// One conversation, read like a notebook. Runs are fetched when they come near to the window, so that one of five
// hundred runs opens as fast as one of five; new ones appear while one watches.
import {useEffect, useRef, useState} from 'preact/hooks';
import {
  address,
  deleteConversation,
  endSession,
  getConversation,
  getRun,
  listRuns,
  listSessions,
  pathOf,
  send,
} from '../api';
import {bytes, count, counted} from '../format';
import {FileCard} from '../files';
import {RunBody, RunHead} from '../run';
import {navigate} from '../router';
import type {Conversation, KeptFile, Reply, RunSummary} from '../types';
import {
  announce,
  Confirm,
  Empty,
  Icon,
  isGone,
  Link,
  Loading,
  Name,
  Problem,
  Time,
  useLoad,
  type Question,
} from '../ui';

// ---- what is near to the window

const near = new WeakMap<Element, (isNear: boolean) => void>();
const observer = new IntersectionObserver(
  entries => entries.forEach(entry => near.get(entry.target)?.(entry.isIntersecting)),
  {rootMargin: '700px 0px'},
);

function LazyRun({run, number, fresh}: {run: RunSummary; number: number; fresh: boolean}) {
  const element = useRef<HTMLElement>(null);
  const [reply, setReply] = useState<Reply | null>(null);
  const [problem, setProblem] = useState<unknown>(null);
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const target = element.current!;
    let timer: ReturnType<typeof setTimeout> | undefined,
      request: AbortController | null = null;
    const stop = () => {
      observer.unobserve(target);
      near.delete(target);
    };
    const load = async () => {
      request = new AbortController();
      try {
        const found = await getRun(run.run_id, request.signal);
        stop();
        setReply(found);
      } catch (caught) {
        if (!request.signal.aborted) setProblem(caught);
      }
    };
    near.set(target, isNear => {
      // one that is only passed by is not fetched
      clearTimeout(timer);
      if (isNear) timer = setTimeout(load, 60);
      else request?.abort();
    });
    observer.observe(target);
    return () => {
      clearTimeout(timer);
      request?.abort();
      stop();
    };
  }, [run.run_id, turn]);
  const size = run.result_count + run.file_count > 0 ? 'big' : 'small';
  return (
    <article
      ref={element}
      id={run.run_id}
      class={`run ${reply ? '' : 'waiting-' + size}${fresh ? ' fresh' : ''}`}
      aria-labelledby={'title-' + run.run_id}
    >
      <RunHead run={run} number={number} stderr={reply?.stderr} />
      {reply && <RunBody reply={reply} title={`run ${number}`} withCode />}
      {!reply && problem == null && (
        <div class="skeleton" aria-hidden="true">
          <i />
          <i />
          <i />
        </div>
      )}
      {problem != null &&
        (isGone(problem) ? (
          <p class="gone">
            <Icon name="clock" />
            This run is no longer kept.
          </p>
        ) : (
          <Problem
            problem={problem}
            retry={() => {
              setProblem(null);
              setTurn(n => n + 1);
            }}
          />
        ))}
    </article>
  );
}

// ---- the conversation and its runs

interface State {
  about: Conversation | null;
  runs: RunSummary[];
  complete: boolean;
  over: boolean;
  problem: unknown;
  live: boolean;
}

const merge = (runs: RunSummary[], news: RunSummary[]) => {
  const known = new Set(runs.map(run => run.run_id));
  const added = news.filter(run => !known.has(run.run_id));
  if (added.length === 0) return runs;
  const all = [...runs, ...added];
  return all.sort((a, b) => (a.started_at < b.started_at ? -1 : a.started_at > b.started_at ? 1 : 0));
};

function useConversation(id: string, onRun: (run: RunSummary) => void) {
  const [state, setState] = useState<State>({
    about: null,
    runs: [],
    complete: false,
    over: false,
    problem: null,
    live: false,
  });
  const [turn, setTurn] = useState(0);
  const listener = useRef(onRun);
  listener.current = onRun;
  useEffect(() => {
    let over = false,
      lastPage: string | undefined;
    const change = (fields: Partial<State>) => {
      if (!over) setState(before => ({...before, ...fields}));
    };
    const readAbout = () =>
      getConversation(id).then(
        about => change({about}),
        () => {},
      );
    const readRuns = async () => {
      for (;;) {
        const page = await listRuns(id, lastPage);
        if (over) return;
        setState(before => ({...before, runs: merge(before.runs, page.runs)}));
        if (!page.next) return change({complete: true});
        lastPage = page.next;
      }
    };
    const open = async () => {
      try {
        change({about: await getConversation(id), problem: null});
        await readRuns();
      } catch (problem) {
        change({problem});
        source.close();
      }
    };
    const source = new EventSource(address(pathOf('conversations', id, 'events')));
    let opened = 0;
    source.addEventListener('open', () => {
      change({live: true});
      if (opened++) void readRuns().catch(() => {});
    });
    source.addEventListener('error', () => change({live: false}));
    source.addEventListener('run', event => {
      const run = JSON.parse((event as MessageEvent).data) as RunSummary;
      if (over) return;
      setState(before => ({...before, runs: merge(before.runs, [run])}));
      listener.current(run);
      void readAbout();
    });
    source.addEventListener('end', () => {
      source.close();
      change({over: true, live: false});
    });
    void open();
    return () => {
      over = true;
      source.close();
    };
  }, [id, turn]);
  return {...state, reload: () => setTurn(n => n + 1)};
}

// ---- parts of the page

const loadFiles = async (id: string) =>
  (await (await send('GET', pathOf('conversations', id, 'files') + '?latest=1&limit=200')).json()) as {
    files: KeptFile[];
    next: string | null;
  };

function AllFiles({id, number}: {id: string; number: number}) {
  const [open, setOpen] = useState(false);
  const files = useLoad(async () => (open ? loadFiles(id) : null), [open, number]);
  return (
    <details class="all-files" onToggle={event => setOpen((event.target as HTMLDetailsElement).open)}>
      <summary>
        <Icon name="file" />
        {counted(number, 'file')} of this conversation
      </summary>
      {files.problem != null && <Problem problem={files.problem} retry={files.reload} />}
      {open && !files.value && files.problem == null && <Loading what="Loading files" />}
      {files.value?.files.map(file => (
        <FileCard key={file.file_id} file={file} />
      ))}
      {files.value?.next && <p class="quiet note">The latest {count(files.value.files.length)} are shown.</p>}
    </details>
  );
}

function Gone({id}: {id: string}) {
  return (
    <Empty icon="clock" title="This conversation is gone" page>
      <p>
        <Name text={id} /> never had a run, was deleted, or is over: runs and files are kept for a while after the last
        run, and then removed.
      </p>
      <Link to="/conversations" class="button">
        All conversations
      </Link>
    </Empty>
  );
}

function Head({
  about,
  live,
  over,
  ask,
}: {
  about: Conversation;
  live: boolean;
  over: boolean;
  ask: (question: Question) => void;
}) {
  const id = about.conversation_id;
  const sessions = useLoad(listSessions, [about.run_count]);
  const session = sessions.value?.sessions.find(entry => entry.conversation_id === id);
  const askDelete = () =>
    ask({
      title: 'Delete this conversation?',
      action: 'Delete',
      run: async () => {
        await deleteConversation(id);
        navigate('/conversations');
      },
      text: (
        <>
          Its {counted(about.run_count, 'run')} and {counted(about.file_count, 'file')} will be gone for good.
        </>
      ),
    });
  const askEnd = () =>
    ask({
      title: 'End its session?',
      action: 'End the session',
      run: async () => {
        await endSession(id);
        sessions.reload();
      },
      text: 'Variables are lost. Runs and files stay, and the next run starts a new session.',
    });
  return (
    <>
      <Link to="/conversations" class="back">
        <Icon name="back" />
        Conversations
      </Link>
      <div class="head">
        <h1>
          <Name text={id} />
        </h1>
        {!over && (
          <span class={'live' + (live ? ' on' : '')} role="status">
            {live ? 'Live' : 'Connecting…'}
          </span>
        )}
        <div class="head-buttons">
          {session && (
            <button type="button" onClick={askEnd}>
              <Icon name="stop" />
              End session
            </button>
          )}
          {!over && (
            <button type="button" onClick={askDelete}>
              <Icon name="trash" />
              Delete
            </button>
          )}
        </div>
      </div>
      <p class="facts">
        {about.agent && (
          <span class="chip">
            <Icon name="agents" />
            <Name text={about.agent} />
          </span>
        )}
        <span>{counted(about.run_count, 'run')}</span>
        <span>{bytes(about.bytes)} kept</span>
        <span>
          <Time at={about.active_at} prefix="last run " />
        </span>
        <span>
          <Time at={about.expires_at} prefix={over ? 'expired ' : 'expires '} />
        </span>
        {session && (
          <span class="fact-live">
            session {session.state}, {counted(session.calls, 'run')}
          </span>
        )}
      </p>
    </>
  );
}

const isAtEnd = () => innerHeight + scrollY > document.documentElement.scrollHeight - 200;
const toEnd = () => scrollTo({top: document.documentElement.scrollHeight});

export function ConversationView({id}: {id: string}) {
  const [question, setQuestion] = useState<Question | null>(null);
  const [unread, setUnread] = useState(0);
  const fresh = useRef(new Set<string>());
  const {about, runs, complete, over, problem, live, reload} = useConversation(id, run => {
    fresh.current.add(run.run_id);
    announce('A new run appeared');
    if (isAtEnd()) requestAnimationFrame(() => requestAnimationFrame(toEnd));
    else setUnread(n => n + 1);
  });
  useEffect(() => {
    const read = () => {
      if (isAtEnd()) setUnread(0);
    };
    addEventListener('scroll', read, {passive: true});
    return () => removeEventListener('scroll', read);
  }, []);
  if (problem != null && isGone(problem)) return <Gone id={id} />;
  if (problem != null && !about) return <Problem problem={problem} retry={reload} />;
  if (!about) return <Loading what="Opening the conversation" />;
  return (
    <>
      <Head about={about} live={live} over={over} ask={setQuestion} />
      {over && (
        <p class="notice" role="alert">
          <Icon name="clock" />
          This conversation is over: it was deleted or has expired. What you see is what was loaded before; files can no
          longer be fetched.
        </p>
      )}
      {problem != null && <Problem problem={problem} retry={reload} />}
      {about.file_count > 0 && !over && <AllFiles id={id} number={about.file_count} />}
      {complete && runs.length === 0 && (
        <Empty icon="playground" title="No runs yet">
          <p>They appear here as they end.</p>
        </Empty>
      )}
      <div class="runs">
        {runs.map((run, index) => (
          <LazyRun key={run.run_id} run={run} number={index + 1} fresh={fresh.current.has(run.run_id)} />
        ))}
      </div>
      {!complete && <Loading what="Loading runs" />}
      {runs.length > 8 && (
        <div class="jump">
          <button type="button" class={unread ? 'primary' : ''} onClick={toEnd}>
            <Icon name="down" />
            {unread ? counted(unread, 'new run') : 'Latest run'}
          </button>
        </div>
      )}
      {question && <Confirm question={question} onClose={() => setQuestion(null)} />}
    </>
  );
}
