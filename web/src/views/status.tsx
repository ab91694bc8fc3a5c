// How the service is: pool, runs, sessions against their caps, and the last hour.
import {useState} from 'preact/hooks';
import {currentProject, endSession, getStatus, listSessions} from '../api';
import {LatencyChart, Meter, OutcomeChart, RunsChart} from '../charts';
import {count, counted, duration} from '../format';
import {to} from '../router';
import type {LiveSession, Session, Status} from '../types';
import {Confirm, Empty, Icon, Link, Loading, Name, Problem, Time, useLoad, type Question} from '../ui';

const Card = ({
  title,
  value,
  unit,
  children,
}: {
  title: string;
  value: string;
  unit: string;
  children?: preact.ComponentChildren;
}) => (
  <section class="card">
    <h2>{title}</h2>
    <p class="big">
      {value} <span>{unit}</span>
    </p>
    {children}
  </section>
);

function Cards({status}: {status: Status}) {
  const {pool, runs, sessions} = status;
  const claims = pool.warm_claims_total + pool.cold_claims_total;
  const warm = claims ? `${Math.round((100 * pool.warm_claims_total) / claims)} % of runs found one` : 'no runs yet';
  return (
    <div class="cards">
      <Card title="Warm pool" value={`${pool.parked} of ${pool.target}`} unit="sandboxes wait">
        <Meter
          value={pool.parked}
          most={Math.max(pool.target, pool.parked)}
          scarce={false}
          label={`${pool.parked} of ${pool.target} sandboxes are waiting`}
        />
        <p class="quiet">
          {pool.creating ? `${pool.creating} being made, ` : ''}
          {warm}
        </p>
      </Card>
      <Card title="Runs now" value={`${runs.running} of ${runs.max_concurrent}`} unit="places taken">
        <Meter
          value={runs.running}
          most={runs.max_concurrent}
          scarce
          label={`${runs.running} of ${runs.max_concurrent} places are taken`}
        />
        <p class="quiet">
          {runs.queued ? `${count(runs.queued)} of ${count(runs.queue_max)} waiting` : 'none waiting'},{' '}
          {count(runs.refused_total)} refused since the start
        </p>
      </Card>
      <Card title="Sessions" value={`${sessions.live} of ${sessions.max}`} unit="alive">
        <Meter
          value={sessions.live}
          most={sessions.max}
          scarce
          label={`${sessions.live} of ${sessions.max} sessions are alive`}
        />
        <p class="quiet">at most {counted(sessions.per_project_max, 'session')} a project</p>
      </Card>
      <Card title="Service" value={status.stopping ? 'Stopping' : status.ready ? 'Ready' : 'Starting'} unit="">
        <p class="quiet">
          up for {duration(status.uptime_s * 1000)}, version {status.version}
        </p>
        <p class="quiet">
          template {status.template.state}, {count(pool.created_total)} sandboxes made
          {pool.failed_total ? `, ${count(pool.failed_total)} failed` : ''}
        </p>
      </Card>
    </div>
  );
}

function Sessions({
  list,
  caps,
  isAdmin,
  ask,
}: {
  list: LiveSession[];
  caps: string;
  isAdmin: boolean;
  ask: (session: LiveSession) => void;
}) {
  return (
    <section class="block">
      <div class="block-head">
        <h2>Live sessions</h2>
        <span class="quiet">{caps}</span>
      </div>
      {list.length === 0 && (
        <p class="quiet note">
          None. A session begins with the first run of a conversation whose agent has sessions turned on.
        </p>
      )}
      {list.length > 0 && (
        <ul class="rows sessions">
          {list.map(session => (
            <li class="row">
              <span class="row-title">
                <Link
                  to={
                    to('conversations', session.conversation_id) +
                    (isAdmin ? '?project=' + encodeURIComponent(session.project) : '')
                  }
                >
                  <Name text={session.conversation_id} />
                </Link>
              </span>
              <span class="row-agent">
                <span class="chip">
                  <Icon name="agents" />
                  <Name text={session.agent} />
                </span>
                {isAdmin && <span class="quiet project-of"> {session.project}</span>}
              </span>
              <span class="row-number">
                {session.state === 'idle' ? `idle for ${duration(session.idle_s * 1000)}` : session.state}
              </span>
              <span class="row-number">{counted(session.calls, 'run')}</span>
              <span class="row-time">
                <Time at={session.created_ms} prefix="began " />
              </span>
              <button type="button" class="small" onClick={() => ask(session)}>
                End<span class="unseen"> the session of {session.conversation_id}</span>
              </button>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

async function look(session: Session): Promise<{status: Status | null; list: LiveSession[]; caps: string}> {
  if (session.is_admin) {
    const status = await getStatus();
    const {list, live, max, per_project_max: most} = status.sessions;
    return {status, list, caps: `${live} of ${max}, at most ${most} a project`};
  }
  const {sessions, limits, idle_seconds: idle} = await listSessions();
  return {
    status: null,
    list: sessions.map(entry => ({...entry, project: entry.project ?? currentProject()})),
    caps:
      `${sessions.length} of ${limits.per_project} of this project; ` +
      `ended after ${duration(idle * 1000)} without a run`,
  };
}

export function StatusView({session}: {session: Session}) {
  const [question, setQuestion] = useState<Question | null>(null);
  const {value, problem, reload} = useLoad(() => look(session), [], 3000);
  const ask = (live: LiveSession) =>
    setQuestion({
      title: 'End this session?',
      action: 'End the session',
      text: (
        <>
          The variables of <Name text={live.conversation_id} /> are lost. Its runs and files stay.
        </>
      ),
      run: async () => {
        await endSession(live.conversation_id, session.is_admin ? live.project : undefined);
        reload();
      },
    });
  const minutes = value?.status?.activity?.minutes;
  return (
    <>
      <div class="head">
        <h1>Status</h1>
        <span class={'live' + (value && problem == null ? ' on' : '')} role="status">
          {problem == null ? 'Live' : 'Not reached'}
        </span>
      </div>
      {problem != null && <Problem problem={problem} retry={reload} />}
      {!value && problem == null && <Loading what="Asking the service" />}
      {value?.status && <Cards status={value.status} />}
      {minutes && minutes.length > 0 && (
        <div class="charts">
          <RunsChart minutes={minutes} />
          <OutcomeChart minutes={minutes} />
          <LatencyChart minutes={minutes} member="wall_ms" title="Duration of runs" />
          <LatencyChart minutes={minutes} member="start_ms" title="Time to the first instruction" />
        </div>
      )}
      {value && <Sessions list={value.list} caps={value.caps} isAdmin={session.is_admin} ask={ask} />}
      {value && !value.status && (
        <Empty icon="status" title="The rest is for administrators">
          <p>Pool, runs and latencies of the whole service are shown to those who sign in with an admin key.</p>
        </Empty>
      )}
      {question && <Confirm question={question} onClose={() => setQuestion(null)} />}
    </>
  );
}
