// The frame around all views: who is signed in, where one is, and the way to the other views.
import {render, type ComponentChildren} from 'preact';
import {useEffect, useRef, useState} from 'preact/hooks';
import {actIn, currentProject, listProjects, resume, signOut, whenSignedOut} from './api';
import {storedTheme, useThemeNow, type Theme} from './theme';
import type {Session} from './types';
import {Empty, Icon, Link, Loading, Problem, useLoad} from './ui';
import {navigate, usePlace} from './router';
import {Agents} from './views/agents';
import {ConversationView} from './views/conversation';
import {Conversations} from './views/conversations';
import {Playground} from './views/playground';
import {Projects} from './views/projects';
import {SignIn} from './views/signin';
import {StatusView} from './views/status';

const VIEWS = [
  {path: 'conversations', title: 'Conversations', icon: 'conversations', admin: false},
  {path: 'playground', title: 'Playground', icon: 'playground', admin: false},
  {path: 'status', title: 'Status', icon: 'status', admin: false},
  {path: 'agents', title: 'Agents', icon: 'agents', admin: false},
  {path: 'projects', title: 'Projects', icon: 'projects', admin: true},
];

export function ThemeButton() {
  const [theme, setTheme] = useState<Theme>(storedTheme);
  const next: Record<Theme, Theme> = {auto: 'light', light: 'dark', dark: 'auto'};
  const words: Record<Theme, string> = {auto: 'as the system', light: 'light', dark: 'dark'};
  const turn = () => {
    setTheme(next[theme]);
    useThemeNow(next[theme]);
  };
  const label = `Colours: ${words[theme]}. Change to ${words[next[theme]]}`;
  return (
    <button type="button" class="plain" aria-label={label} title={label} onClick={turn}>
      <Icon name={{auto: 'auto', light: 'sun', dark: 'moon'}[theme]} />
    </button>
  );
}

function ProjectChoice() {
  const projects = useLoad(listProjects, []);
  const choose = (event: Event) => {
    const name = (event.target as HTMLSelectElement).value;
    navigate('/conversations?project=' + encodeURIComponent(name));
  };
  const names = (projects.value ?? []).map(project => project.name);
  if (!names.includes(currentProject())) names.unshift(currentProject());
  return (
    <label class="project-choice">
      <span>Project</span>
      <select value={currentProject()} onChange={choose}>
        {names.map(name => (
          <option value={name}>{name}</option>
        ))}
      </select>
    </label>
  );
}

function Shell({session, view, children}: {session: Session; view: string; children: ComponentChildren}) {
  const leave = () => {
    void signOut().finally(() => location.assign('/console/'));
  };
  return (
    <div class="shell">
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <header class="side">
        <Link to="/conversations" class="brand">
          <span class="mark" aria-hidden="true" />
          Console
        </Link>
        <nav aria-label="Views">
          {VIEWS.filter(entry => session.is_admin || !entry.admin).map(entry => (
            <Link to={'/' + entry.path} aria-current={entry.path === view ? 'page' : undefined}>
              <Icon name={entry.icon} />
              <span>{entry.title}</span>
            </Link>
          ))}
        </nav>
        <div class="account">
          {session.is_admin ? (
            <ProjectChoice />
          ) : (
            <div class="project-name">
              <span>Project</span>
              <b>{session.project}</b>
            </div>
          )}
          <div class="account-buttons">
            <ThemeButton />
            <button type="button" class="plain" aria-label="Sign out" title="Sign out" onClick={leave}>
              <Icon name="leave" />
            </button>
          </div>
        </div>
      </header>
      <main id="main" tabIndex={-1}>
        {children}
      </main>
    </div>
  );
}

function View({parts, session}: {parts: string[]; session: Session}) {
  const [name = 'conversations', id] = parts;
  if (name === 'conversations' && id) return <ConversationView key={id} id={id} />;
  if (name === 'conversations') return <Conversations />;
  if (name === 'playground') return <Playground />;
  if (name === 'status') return <StatusView session={session} />;
  if (name === 'agents') return <Agents key={id ?? ''} name={id} />;
  if (name === 'projects' && session.is_admin) return <Projects key={id ?? ''} name={id} />;
  return (
    <Empty icon="search" title="There is no such page" page>
      <Link to="/conversations">Go to the conversations</Link>
    </Empty>
  );
}

const titleOf = (parts: string[]) => {
  const view = VIEWS.find(entry => entry.path === (parts[0] ?? 'conversations'));
  return [parts[1], view?.title ?? 'Not found', 'Console'].filter(Boolean).join(' · ');
};

function App() {
  const [session, setSession] = useState<Session | null>(null);
  const [expired, setExpired] = useState(false);
  const started = useLoad(async () => {
    setSession(await resume());
    return true;
  }, []);
  const place = usePlace();
  const address = place.parts.join('/');
  const first = useRef(true);

  useEffect(
    () =>
      whenSignedOut(() => {
        setSession(null);
        setExpired(true);
      }) as () => void,
    [],
  );
  useEffect(() => {
    document.title = session ? titleOf(place.parts) : 'Sign in · Console';
    // A screen reader goes on reading where the new view begins.
    if (!first.current) document.getElementById('main')?.focus({preventScroll: true});
    first.current = !session;
  }, [address, session]);

  if (started.problem)
    return (
      <div class="alone">
        <Problem problem={started.problem} retry={started.reload} />
      </div>
    );
  if (!started.value)
    return (
      <div class="alone">
        <Loading what="Opening the Console" />
      </div>
    );
  if (!session)
    return (
      <SignIn
        expired={expired}
        onSignedIn={next => {
          setExpired(false);
          setSession(next);
        }}
      />
    );
  actIn(session.is_admin ? place.query.get('project') : null);
  return (
    <Shell session={session} view={place.parts[0] ?? 'conversations'}>
      <View key={currentProject()} parts={place.parts} session={session} />
    </Shell>
  );
}

export function start(root: HTMLElement) {
  useThemeNow(storedTheme());
  render(
    <>
      <App />
      <div id="announcer" class="unseen" role="status" aria-live="polite" />
    </>,
    root,
  );
}
