// The playground: write code, run it, see what it does while it does it.
import {useEffect, useRef, useState} from 'preact/hooks';
import {ApiError, getAgent, listAgents, send} from '../api';
import type {Editor} from '../editor';
import {readEvents, type ServerEvent} from '../events';
import {bytes, counted, duration, exceptionOf, outcomeWords} from '../format';
import {Output} from '../output';
import {Result} from '../result';
import {RunBody, RunFacts, useLimits} from '../run';
import {to} from '../router';
import type {MimeMap, Reply} from '../types';
import {announce, Icon, Link, Loading, Name, Outcome, Problem, useLoad} from '../ui';

const EXAMPLE = `import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

days = pd.date_range("2026-01-01", periods=90)
visits = pd.DataFrame({"day": days, "visits": 200 + np.cumsum(np.random.randn(90) * 12)})
visits.to_csv("visits.csv", index=False)

plt.figure(figsize=(8, 3))
plt.plot(visits.day, visits.visits)
plt.title("Visits")
plt.show()

visits.describe()
`;

// What was written is there again when one comes back from another view; it is not kept beyond the page.
const memory = {code: EXAMPLE, conversation: newConversation()};

function newConversation(): string {
  const random = crypto.getRandomValues(new Uint8Array(5));
  return 'playground-' + [...random].map(byte => byte.toString(36).padStart(2, '0')).join('');
}

interface Live {
  stdout: string;
  stderr: string;
  results: MimeMap[];
  files: string[];
  started: number;
}

type Phase =
  | {is: 'idle'}
  | {is: 'running'; live: Live}
  | {is: 'done'; reply: Reply}
  | {is: 'stopped'; live: Live; after: number}
  | {is: 'failed'; problem: unknown; live: Live | null};

const LIVE_MAX = 400_000;
const ended = (text: string) =>
  text.length > LIVE_MAX ? '… the beginning is left out\n' + text.slice(-LIVE_MAX) : text;

function take(live: Live, event: ServerEvent): Live {
  const data = JSON.parse(event.data);
  switch (event.name) {
    case 'stdout':
      return {...live, stdout: ended(live.stdout + data.text)};
    case 'stderr':
      return {...live, stderr: ended(live.stderr + data.text)};
    case 'result':
      return {...live, results: [...live.results, data]};
    case 'file':
      return {...live, files: [...live.files, String(data.name)]};
    default:
      return live;
  }
}

async function base64(file: File): Promise<string> {
  const content = new Uint8Array(await file.arrayBuffer());
  let binary = '';
  for (let at = 0; at < content.length; at += 8192) binary += String.fromCharCode(...content.subarray(at, at + 8192));
  return btoa(binary);
}

// ---- running

function useRunner(onDone: (reply: Reply) => void) {
  const [phase, setPhase] = useState<Phase>({is: 'idle'});
  const request = useRef<AbortController | null>(null);
  useEffect(() => () => request.current?.abort(), []);

  const run = async (body: Record<string, unknown>) => {
    const controller = new AbortController();
    request.current = controller;
    let live: Live = {stdout: '', stderr: '', results: [], files: [], started: performance.now()};
    let drawn = 0,
      reply: Reply | null = null,
      failure: unknown = null;
    const draw = () => {
      drawn = 0;
      if (!reply && request.current === controller) setPhase({is: 'running', live});
    };
    setPhase({is: 'running', live});
    announce('Running');
    try {
      const response = await send('POST', '/v1/execute', {...body, stream: true}, controller.signal);
      await readEvents(response, event => {
        if (event.name === 'done') reply = JSON.parse(event.data) as Reply;
        else if (event.name === 'error') {
          const {error} = JSON.parse(event.data);
          failure = new ApiError(500, String(error.type), String(error.message));
        } else {
          live = take(live, event);
          drawn ||= requestAnimationFrame(draw);
        }
      });
      if (!reply) throw failure ?? new ApiError(0, 'unreachable', 'The connection ended before the run did.');
      setPhase({is: 'done', reply});
      onDone(reply);
    } catch (problem) {
      if (controller.signal.aborted) {
        announce('Stopped');
        setPhase({is: 'stopped', live, after: performance.now() - live.started});
      } else setPhase({is: 'failed', problem, live});
    } finally {
      cancelAnimationFrame(drawn);
      if (request.current === controller) request.current = null;
    }
  };
  return {phase, run, stop: () => request.current?.abort()};
}

// ---- what it shows

function LiveOutput({live}: {live: Live}) {
  return (
    <div class="run-body">
      <Output text={live.stdout} label="Output" title="this run" name="output" truncated={false} />
      <Output text={live.stderr} label="Error output" title="this run" name="errors" truncated={false} />
      {live.results.map((map, index) => (
        <Result map={map} number={index + 1} run="this run" />
      ))}
    </div>
  );
}

function Running({live}: {live: Live}) {
  const [now, setNow] = useState(performance.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(performance.now()), 200);
    return () => clearInterval(timer);
  }, []);
  return (
    <span class="outcome tone-running">
      <span class="spinner" aria-hidden="true" />
      Running for {duration(Math.max(0, Math.floor((now - live.started) / 100) * 100))}
    </span>
  );
}

function Outcome_({reply}: {reply: Reply}) {
  const limits = useLimits();
  return (
    <>
      <Outcome outcome={reply.outcome} words={outcomeWords(reply, limits)} />
      <RunFacts run={reply} />
    </>
  );
}

function Result_({phase}: {phase: Phase}) {
  return (
    <section class="pane result-pane" aria-label="What came of it">
      <div class="pane-head">
        <h2>Result</h2>
        {phase.is === 'running' && <Running live={phase.live} />}
        {phase.is === 'done' && <Outcome_ reply={phase.reply} />}
        {phase.is === 'stopped' && (
          <span class="outcome tone-quiet">
            <Icon name="stop" />
            You stopped it after {duration(phase.after)}
          </span>
        )}
      </div>
      <div class="pane-body">
        {phase.is === 'idle' && (
          <p class="quiet placeholder">What the code prints, its values, charts and files appear here.</p>
        )}
        {phase.is === 'running' && !phase.live.stdout && !phase.live.stderr && phase.live.results.length === 0 && (
          <p class="quiet placeholder">Nothing printed so far.</p>
        )}
        {(phase.is === 'running' || phase.is === 'stopped') && <LiveOutput live={phase.live} />}
        {phase.is === 'failed' && (
          <>
            <Problem problem={phase.problem} />
            {phase.live && <LiveOutput live={phase.live} />}
          </>
        )}
        {phase.is === 'done' && <RunBody reply={phase.reply} title="this run" withCode={false} />}
      </div>
    </section>
  );
}

function Inputs({files, change}: {files: File[]; change: (files: File[]) => void}) {
  const add = (event: Event) => {
    const field = event.target as HTMLInputElement;
    const added = [...(field.files ?? [])];
    change([...files.filter(file => !added.some(other => other.name === file.name)), ...added]);
    field.value = '';
  };
  return (
    <div class="inputs">
      <label class="button upload">
        <Icon name="upload" />
        Add input files
        <input type="file" multiple class="unseen" onChange={add} />
      </label>
      {files.map(file => (
        <span class="chip">
          <Icon name="file" />
          <Name text={file.name} /> <span class="quiet">{bytes(file.size)}</span>
          <button
            type="button"
            class="plain"
            aria-label={`Remove ${file.name}`}
            onClick={() => change(files.filter(other => other !== file))}
          >
            <Icon name="close" />
          </button>
        </span>
      ))}
    </div>
  );
}

// ---- the view

export function Playground() {
  const place = useRef<HTMLDivElement>(null);
  const editor = useRef<Editor | null>(null);
  const [ready, setReady] = useState(false);
  const [problem, setProblem] = useState<unknown>(null);
  const [agent, setAgent] = useState('');
  const [share, setShare] = useState(true);
  const [files, setFiles] = useState<File[]>([]);
  const [conversation, setConversation] = useState(memory.conversation);
  const [kept, setKept] = useState(0);
  const agents = useLoad(listAgents, []);
  const chosen = useLoad(async () => (agent ? getAgent(agent) : null), [agent]);
  const stateful = Boolean(agent && chosen.value?.name === agent && chosen.value.stateful);

  const {phase, run, stop} = useRunner(reply => {
    announce(`${reply.outcome === 'ok' ? 'Finished' : 'It failed'}`);
    const error = reply.outcome === 'error' ? exceptionOf(reply.stderr) : null;
    editor.current?.markLine(error?.line ?? null);
    if (reply.conversation_id) setKept(n => n + 1);
  });
  const running = phase.is === 'running';

  const begin = (next = newConversation()) => {
    memory.conversation = next;
    setConversation(next);
    setKept(0);
  };
  const start = async () => {
    const text = editor.current?.text() ?? '';
    if (running) return;
    editor.current?.markLine(null);
    const inputs = await Promise.all(files.map(async file => ({name: file.name, content_base64: await base64(file)})));
    // Runs of a stateful agent share an interpreter by their conversation; without one each is fresh, and not kept.
    const keep = !stateful || share;
    await run({
      code: text,
      ...(agent ? {agent} : {}),
      ...(keep ? {conversation_id: conversation} : {}),
      ...(inputs.length ? {files: inputs} : {}),
    });
  };
  const startNow = useRef(start);
  startNow.current = start;

  useEffect(() => {
    let over = false;
    import('../editor').then(
      module => {
        if (over || !place.current) return;
        editor.current = module.makeEditor(
          place.current,
          memory.code,
          () => void startNow.current(),
          text => {
            memory.code = text;
          },
        );
        setReady(true);
      },
      caught => {
        if (!over) setProblem(caught);
      },
    );
    return () => {
      over = true;
      editor.current?.destroy();
      editor.current = null;
    };
  }, []);

  const choose = (name: string) => {
    setAgent(name);
    if (kept > 0) begin(); // a conversation belongs to its first agent
  };
  return (
    <>
      <div class="head">
        <h1>Playground</h1>
      </div>
      <div class="toolbar">
        {running ? (
          <button type="button" class="danger run-button" onClick={stop}>
            <Icon name="stop" />
            Stop
          </button>
        ) : (
          <button type="button" class="primary run-button" disabled={!ready} onClick={start}>
            <Icon name="playground" />
            Run
          </button>
        )}
        <label>
          Agent
          <select
            value={agent}
            disabled={running}
            onChange={event => choose((event.target as HTMLSelectElement).value)}
          >
            <option value="">None</option>
            {(agents.value ?? []).map(entry => (
              <option value={entry.name}>{entry.name}</option>
            ))}
          </select>
        </label>
        <label class="check" title={stateful ? '' : 'Choose an agent whose session setting is on'}>
          <input
            type="checkbox"
            checked={stateful && share}
            disabled={!stateful || running}
            onChange={event => setShare((event.target as HTMLInputElement).checked)}
          />
          Keep variables between runs
        </label>
        <Inputs files={files} change={setFiles} />
      </div>
      <p class="quiet mode-note">
        {stateful && !share && 'Each run is fresh, and is not kept.'}
        {stateful && share && 'Runs share one interpreter, like the cells of a notebook. '}
        {!stateful && agent && 'This agent starts fresh each time; its session setting can be turned on under Agents. '}
        {!stateful &&
          !agent &&
          'Each run is fresh. To keep variables between runs, choose an agent whose session setting is on. '}
        {(!stateful || share) &&
          (kept > 0 ? (
            <>
              {counted(kept, 'run')} kept in <Link to={to('conversations', conversation)}>{conversation}</Link>.{' '}
              <button type="button" class="more" onClick={() => begin()}>
                Begin a new one
              </button>
            </>
          ) : (
            'Runs are kept as a conversation.'
          ))}
      </p>
      <div class="panes">
        <section class="pane" aria-label="Code">
          <div class="pane-head">
            <h2>Code</h2>
            <span class="quiet editor-help">
              <kbd>Ctrl</kbd> <kbd>Enter</kbd> runs it
            </span>
          </div>
          {!ready && problem == null && <Loading what="Opening the editor" />}
          {problem != null && <Problem problem={problem} />}
          <div class="pane-body editor" ref={place} />
        </section>
        <Result_ phase={phase} />
      </div>
    </>
  );
}
