// One run, as a cell of a notebook: its code, what it printed, values, charts, files.
import {useEffect, useState} from 'preact/hooks';
import {getEnvironment} from './api';
import {visible} from './ansi';
import {Code} from './code';
import {bytes, duration, exceptionOf, outcomeWords} from './format';
import {Files} from './files';
import {Output} from './output';
import {Result} from './result';
import type {Reply, RunSummary} from './types';
import {Icon, Outcome, Time} from './ui';

let known = {memory: 512 << 20, output: 64 << 20};

export function useLimits() {
  const [limits, setLimits] = useState(known);
  useEffect(() => {
    getEnvironment().then(
      ({limits: found}) => {
        known = {memory: found.memory_bytes, output: found.output_max_bytes};
        setLimits(known);
      },
      () => {},
    );
  }, []);
  return limits;
}

export function RunFacts({run}: {run: Pick<RunSummary, 'usage'>}) {
  return (
    <>
      <span class="fact" title="From the start to the end of the run">
        <Icon name="clock" />
        <span class="unseen">Duration: </span>
        {duration(run.usage.wall_ms)}
      </span>
      <span class="fact" title="The most memory that it used, its files included">
        <Icon name="memory" />
        <span class="unseen">Memory: </span>
        {bytes(run.usage.max_memory_bytes)}
      </span>
    </>
  );
}

export function RunHead({run, number, stderr}: {run: RunSummary; number: number; stderr?: string}) {
  const limits = useLimits();
  return (
    <header class="run-head">
      <h2 id={'title-' + run.run_id}>
        <span class="unseen">Run </span>
        <span class="run-number">{number}</span>
      </h2>
      <Outcome outcome={run.outcome} words={outcomeWords({...run, stderr}, limits)} />
      <RunFacts run={run} />
      {run.stateful && (
        <span class="fact" title="Shares its variables with the other runs of the session">
          session
        </span>
      )}
      <span class="fact run-time">
        <Time at={run.started_at} />
      </span>
    </header>
  );
}

export function RunBody({reply, title, withCode}: {reply: Reply; title: string; withCode: boolean}) {
  const error = reply.outcome === 'error' ? exceptionOf(reply.stderr) : null;
  const failed = reply.outcome !== 'ok';
  const nothing = !reply.stdout && !reply.stderr && reply.results.length === 0 && reply.files.length === 0;
  return (
    <div class="run-body">
      {reply.session?.message && (
        <p class="notice">
          <Icon name="warning" />
          {visible(reply.session.message)}
        </p>
      )}
      {withCode && reply.code !== undefined && <Code code={reply.code} error={error} label={`Code of ${title}`} />}
      <Output
        text={reply.stdout}
        label="Output"
        title={title}
        name={reply.run_id + '-output'}
        truncated={reply.stdout_truncated}
      />
      <Output
        text={reply.stderr}
        label={failed ? 'Error' : 'Error output'}
        title={title}
        bad={failed}
        name={reply.run_id + '-errors'}
        truncated={reply.stderr_truncated}
      />
      {reply.results.map((map, index) => (
        <Result map={map} number={index + 1} run={title} />
      ))}
      <Files reply={reply} />
      {reply.hint && <p class="hint">{visible(reply.hint)}</p>}
      {nothing && !failed && <p class="quiet note">It printed nothing and left no value or file.</p>}
    </div>
  );
}
