// Projects and their keys, for administrators. A new key is shown once and then forgotten.
import {useState} from 'preact/hooks';
import {createKey, createProject, listKeys, listProjects, revokeKey} from '../api';
import {counted} from '../format';
import {navigate, to} from '../router';
import type {Key} from '../types';
import {
  announce,
  Confirm,
  Dialog,
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

const textOf = (event: Event, name: string) =>
  ((event.target as HTMLFormElement).elements.namedItem(name) as HTMLInputElement).value.trim();

function List() {
  const {value, problem, reload} = useLoad(listProjects, []);
  const [wrong, setWrong] = useState<unknown>(null);
  const create = async (event: Event) => {
    event.preventDefault();
    const name = textOf(event, 'name');
    if (!name) return setWrong(new Error('Give it a name first.'));
    try {
      await createProject(name);
      navigate(to('projects', name));
    } catch (caught) {
      setWrong(caught);
    }
  };
  return (
    <>
      <div class="head">
        <h1>Projects</h1>
      </div>
      <form class="inline-form" onSubmit={create} noValidate>
        <label>
          Name of a new project{' '}
          <input
            name="name"
            autocomplete="off"
            spellcheck={false}
            placeholder="weather"
            aria-invalid={wrong ? 'true' : undefined}
          />
        </label>
        <button type="submit" class="primary">
          <Icon name="plus" />
          Create
        </button>
        {wrong != null && (
          <p class="wrong" role="alert">
            {messageOf(wrong)}
          </p>
        )}
      </form>
      {problem != null && <Problem problem={problem} retry={reload} />}
      {!value && problem == null && <Loading what="Loading projects" />}
      {value && (
        <ul class="rows">
          {value.map(project => (
            <li>
              <Link to={to('projects', project.name)} class="row">
                <span class="row-title">
                  <Name text={project.name} />
                </span>
                <span class="row-time">
                  <Time at={project.created_at} prefix="made " />
                </span>
              </Link>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

function NewKey({text, label, onClose}: {text: string; label: string; onClose: () => void}) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
    announce('Copied');
  };
  return (
    <Dialog title="The new key" onClose={onClose}>
      <p>
        Copy it now
        {label && (
          <>
            {' '}
            for <Name text={label} />
          </>
        )}
        : <b>it is shown this once</b>. The service keeps only a hash of it.
      </p>
      <p class="secret">
        <code>{text}</code>
      </p>
      <div class="actions">
        {typeof navigator.clipboard !== 'undefined' && (
          <button type="button" onClick={copy}>
            <Icon name={copied ? 'check' : 'copy'} />
            {copied ? 'Copied' : 'Copy'}
          </button>
        )}
        <button type="button" class="primary" onClick={onClose}>
          I have it
        </button>
      </div>
    </Dialog>
  );
}

function One({name}: {name: string}) {
  const {value, problem, reload} = useLoad(() => listKeys(name), [name]);
  const [made, setMade] = useState<{key: string; label: string} | null>(null);
  const [wrong, setWrong] = useState<unknown>(null);
  const [question, setQuestion] = useState<Question | null>(null);
  const create = async (event: Event) => {
    event.preventDefault();
    const form = event.target as HTMLFormElement;
    try {
      const {key, label} = await createKey(name, textOf(event, 'label'));
      form.reset();
      setWrong(null);
      setMade({key, label});
      reload();
    } catch (caught) {
      setWrong(caught);
    }
  };
  const askRevoke = (key: Key) =>
    setQuestion({
      title: 'Revoke this key?',
      action: 'Revoke',
      run: async () => {
        await revokeKey(name, key.id);
        reload();
      },
      text: <>Whoever uses {key.label ? <Name text={key.label} /> : 'it'} is refused from now on.</>,
    });
  if (isGone(problem))
    return (
      <Empty icon="projects" title="There is no such project" page>
        <Link to="/projects" class="button">
          All projects
        </Link>
      </Empty>
    );
  return (
    <>
      <Link to="/projects" class="back">
        <Icon name="back" />
        Projects
      </Link>
      <div class="head">
        <h1>
          <Name text={name} />
        </h1>
        <div class="head-buttons">
          <Link to={'/conversations?project=' + encodeURIComponent(name)} class="button">
            <Icon name="conversations" />
            Its conversations
          </Link>
        </div>
      </div>
      <section class="block">
        <div class="block-head">
          <h2>Keys</h2>
          {value && <span class="quiet">{counted(value.length, 'key')}</span>}
        </div>
        <form class="inline-form" onSubmit={create} noValidate>
          <label>
            What the new key is for <input name="label" autocomplete="off" placeholder="the web shop" maxLength={100} />
          </label>
          <button type="submit" class="primary">
            <Icon name="plus" />
            Make a key
          </button>
          {wrong != null && (
            <p class="wrong" role="alert">
              {messageOf(wrong)}
            </p>
          )}
        </form>
        {problem != null && <Problem problem={problem} retry={reload} />}
        {!value && problem == null && <Loading what="Loading keys" />}
        {value?.length === 0 && (
          <p class="quiet note">None yet. Without one, nobody but an administrator can act in this project.</p>
        )}
        {value && value.length > 0 && (
          <ul class="rows keys">
            {value.map(key => (
              <li class="row">
                <span class="row-title">
                  {key.label ? <Name text={key.label} /> : <span class="quiet">without a label</span>}
                </span>
                <span class="row-value">
                  <code>{key.hint}</code>
                </span>
                <span class="row-time">
                  <Time at={key.created_at} prefix="made " />
                </span>
                <button type="button" class="small" onClick={() => askRevoke(key)}>
                  Revoke<span class="unseen"> {key.label || key.hint}</span>
                </button>
              </li>
            ))}
          </ul>
        )}
      </section>
      {made && <NewKey text={made.key} label={made.label} onClose={() => setMade(null)} />}
      {question && <Confirm question={question} onClose={() => setQuestion(null)} />}
    </>
  );
}

export const Projects = ({name}: {name?: string}) => (name ? <One name={name} /> : <List />);
