// Agents and their settings.
import {useEffect, useState} from 'preact/hooks';
import {
  deleteAgent,
  deleteSetting,
  getAgent,
  getEnvironment,
  getSettings,
  listAgents,
  putAgent,
  putSetting,
  type Settings,
} from '../api';
import {visible} from '../ansi';
import {counted, duration} from '../format';
import {navigate, to} from '../router';
import type {Agent} from '../types';
import {
  announce,
  Confirm,
  Empty,
  Icon,
  isGone,
  Link,
  Loading,
  messageOf,
  Name,
  Problem,
  Time,
  useLoad,
  type Question,
} from '../ui';

const SESSION = 'CODE_INTERPRETER_SESSION',
  TIMEOUT = 'CODE_INTERPRETER_TIMEOUT_S';

function NewAgent() {
  const [problem, setProblem] = useState<unknown>(null);
  const create = async (event: Event) => {
    event.preventDefault();
    const form = event.target as HTMLFormElement;
    const name = (form.elements.namedItem('name') as HTMLInputElement).value.trim();
    if (!name) return setProblem(new Error('Give it a name first.'));
    try {
      await putAgent(name);
      navigate(to('agents', name));
    } catch (caught) {
      setProblem(caught);
    }
  };
  return (
    <form class="inline-form" onSubmit={create} noValidate>
      <label>
        Name of a new agent
        <input
          name="name"
          placeholder="shop-assistant"
          autocomplete="off"
          spellcheck={false}
          maxLength={64}
          aria-invalid={problem ? 'true' : undefined}
        />
      </label>
      <button type="submit" class="primary">
        <Icon name="plus" />
        Create
      </button>
      {problem != null && (
        <p class="wrong" role="alert">
          {messageOf(problem)}
        </p>
      )}
    </form>
  );
}

function List() {
  const {value, problem, reload} = useLoad(listAgents, []);
  return (
    <>
      <div class="head">
        <h1>Agents</h1>
      </div>
      <NewAgent />
      {problem != null && <Problem problem={problem} retry={reload} />}
      {!value && problem == null && <Loading what="Loading agents" />}
      {value?.length === 0 && (
        <Empty icon="agents" title="No agents yet">
          <p>An agent is a name with settings: whether its runs share an interpreter, and how long one may take.</p>
        </Empty>
      )}
      {value && value.length > 0 && (
        <ul class="rows">
          {value.map(agent => (
            <li>
              <Link to={to('agents', agent.name)} class="row">
                <span class="row-title">
                  <Name text={agent.name} />
                </span>
                <span class="row-time">
                  <Time at={agent.updated_at} prefix="changed " />
                </span>
              </Link>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

/** One setting that is saved when one leaves the field or presses Enter, and says so. */
function useSaving(reload: () => void) {
  const [problem, setProblem] = useState<unknown>(null);
  const save = async (work: () => Promise<unknown>, words: string) => {
    try {
      await work();
      setProblem(null);
      announce(words);
    } catch (caught) {
      setProblem(caught);
    }
    reload();
  };
  return {problem, save};
}

function MainSettings({agent, settings, reload}: {agent: string; settings: Settings; reload: () => void}) {
  const {problem, save} = useSaving(reload);
  const limits = useLoad(getEnvironment, []).value?.limits;
  // As just clicked, until the service has said what holds: any drawing in between would set the box back.
  const [clicked, setClicked] = useState<boolean | null>(null);
  useEffect(() => setClicked(null), [settings]);
  const setSession = (event: Event) => {
    const on = (event.target as HTMLInputElement).checked;
    setClicked(on);
    void save(() => putSetting(agent, SESSION, on ? 'true' : 'false'), on ? 'Sessions are on' : 'Sessions are off');
  };
  const setTimeout_ = (event: Event) => {
    event.preventDefault();
    const text = ((event.target as HTMLFormElement).elements.namedItem('timeout') as HTMLInputElement).value.trim();
    void save(
      () => (text ? putSetting(agent, TIMEOUT, text) : deleteSetting(agent, TIMEOUT)),
      'The time limit is saved',
    );
  };
  return (
    <section class="block">
      <h2>How its code runs</h2>
      <label class="setting">
        <input type="checkbox" checked={clicked ?? settings.effective.stateful} onChange={setSession} />
        <span>
          <b>Keep variables between runs</b>
          <span class="quiet">
            All runs of one conversation share an interpreter, like the cells of a notebook ({SESSION}).
          </span>
        </span>
      </label>
      <form class="inline-form" onSubmit={setTimeout_} noValidate>
        <label>
          Time limit of a run, in whole seconds
          <input
            name="timeout"
            key={settings.env[TIMEOUT] ?? ''}
            inputMode="numeric"
            defaultValue={settings.env[TIMEOUT] ?? ''}
            placeholder={String(limits?.timeout_s ?? 20)}
            aria-invalid={problem ? 'true' : undefined}
          />
        </label>
        <button type="submit">Save</button>
        <p class="quiet in-force">In force: {duration(settings.effective.timeout_s * 1000)}</p>
      </form>
      {problem != null && (
        <p class="wrong" role="alert">
          {messageOf(problem)}
        </p>
      )}
      {settings.warnings.map(warning => (
        <p class="notice">
          <Icon name="warning" />
          {visible(warning)}
        </p>
      ))}
    </section>
  );
}

function OtherSettings({
  agent,
  settings,
  reload,
  ask,
}: {
  agent: string;
  settings: Settings;
  reload: () => void;
  ask: (question: Question) => void;
}) {
  const {problem, save} = useSaving(reload);
  const names = Object.keys(settings.env)
    .filter(name => name !== SESSION && name !== TIMEOUT)
    .sort();
  const add = (event: Event) => {
    event.preventDefault();
    const form = event.target as HTMLFormElement;
    const field = (name: string) => (form.elements.namedItem(name) as HTMLInputElement).value;
    void save(async () => {
      await putSetting(agent, field('setting').trim(), field('value'));
      form.reset();
    }, 'The setting is saved');
  };
  const remove = (name: string) =>
    ask({
      title: 'Delete this setting?',
      action: 'Delete',
      text: (
        <>
          <Name text={name} /> is removed from this agent.
        </>
      ),
      run: async () => {
        await deleteSetting(agent, name);
        reload();
      },
    });
  return (
    <section class="block">
      <h2>Other settings</h2>
      <p class="quiet">Kept for you. No setting ever reaches a sandbox.</p>
      {names.length > 0 && (
        <ul class="rows settings">
          {names.map(name => (
            <li class="row">
              <span class="row-title">
                <Name text={name} />
              </span>
              <span class="row-value">{visible(settings.env[name]!.slice(0, 300))}</span>
              <button type="button" class="small" onClick={() => remove(name)}>
                Delete<span class="unseen"> {name}</span>
              </button>
            </li>
          ))}
        </ul>
      )}
      <form class="inline-form" onSubmit={add} noValidate>
        <label>
          Name <input name="setting" autocomplete="off" spellcheck={false} placeholder="GREETING" />
        </label>
        <label>
          Value <input name="value" autocomplete="off" spellcheck={false} />
        </label>
        <button type="submit">
          <Icon name="plus" />
          Set
        </button>
        {problem != null && (
          <p class="wrong" role="alert">
            {messageOf(problem)}
          </p>
        )}
      </form>
    </section>
  );
}

const Tools = ({agent}: {agent: Agent}) => (
  <section class="block">
    <h2>Tools</h2>
    {!agent.tools?.length && <p class="quiet note">None are declared. Code in the sandbox runs without any.</p>}
    {agent.tools && agent.tools.length > 0 && (
      <ul class="rows">
        {agent.tools.map(tool => (
          <li class="row tool">
            <span class="row-title">
              <Name text={tool.name} />
            </span>
            <span class="quiet">
              <Name text={tool.entrypoint} />
            </span>
            {tool.description && <span class="tool-text">{visible(String(tool.description).slice(0, 1000))}</span>}
          </li>
        ))}
      </ul>
    )}
  </section>
);

function One({name}: {name: string}) {
  const [question, setQuestion] = useState<Question | null>(null);
  const {value, problem, reload} = useLoad(async () => {
    const [agent, settings] = await Promise.all([getAgent(name), getSettings(name)]);
    return {agent, settings};
  }, [name]);
  const askDelete = () =>
    setQuestion({
      title: 'Delete this agent?',
      action: 'Delete',
      run: async () => {
        await deleteAgent(name);
        navigate('/agents');
      },
      text: (
        <>
          <Name text={name} /> goes with {counted(Object.keys(value?.settings.env ?? {}).length, 'setting')}. Its
          conversations stay.
        </>
      ),
    });
  if (isGone(problem))
    return (
      <Empty icon="agents" title="There is no such agent" page>
        <Link to="/agents" class="button">
          All agents
        </Link>
      </Empty>
    );
  return (
    <>
      <Link to="/agents" class="back">
        <Icon name="back" />
        Agents
      </Link>
      <div class="head">
        <h1>
          <Name text={name} />
        </h1>
        {value && (
          <div class="head-buttons">
            <Link to={'/conversations?agent=' + encodeURIComponent(name)} class="button">
              <Icon name="conversations" />
              Its conversations
            </Link>
            <button type="button" onClick={askDelete}>
              <Icon name="trash" />
              Delete
            </button>
          </div>
        )}
      </div>
      {problem != null && <Problem problem={problem} retry={reload} />}
      {!value && problem == null && <Loading what="Loading the agent" />}
      {value && (
        <>
          <p class="facts">
            <span>
              <Time at={value.agent.created_at} prefix="made " />
            </span>
            <span>
              <Time at={value.agent.updated_at} prefix="changed " />
            </span>
          </p>
          <MainSettings agent={name} settings={value.settings} reload={reload} />
          <OtherSettings agent={name} settings={value.settings} reload={reload} ask={setQuestion} />
          <Tools agent={value.agent} />
        </>
      )}
      {question && <Confirm question={question} onClose={() => setQuestion(null)} />}
    </>
  );
}

export const Agents = ({name}: {name?: string}) => (name ? <One name={name} /> : <List />);
