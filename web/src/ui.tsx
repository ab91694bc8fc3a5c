// Small parts that every view uses: icons, times, messages, dialogs, and text from untrusted code.
import type {ComponentChildren, JSX} from 'preact';
import {useEffect, useRef, useState} from 'preact/hooks';
import {ApiError} from './api';
import {parseAnsi, visibleLine} from './ansi';
import {exact, relative, shortOf, toneOf} from './format';
import {href, navigate} from './router';

// ---- icons: strokes on a grid of 24

const ICONS: Record<string, string> = {
  conversations: 'M4 5h16v11H9l-5 4z',
  playground: 'M8 5l11 7-11 7z',
  status: 'M3 12h4l3-8 4 16 3-8h4',
  agents: 'M12 3v3M6 8h12a2 2 0 012 2v7a2 2 0 01-2 2H6a2 2 0 01-2-2v-7a2 2 0 012-2zM9 13v1M15 13v1',
  projects: 'M8 15a4 4 0 114-4h8v3h-2v3h-3v-3h-3a4 4 0 01-4 1z',
  sun: 'M12 8a4 4 0 100 8 4 4 0 000-8zM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.5 1.5M17.5 17.5L19 19M19 5l-1.5 1.5M6.5 17.5L5 19',
  moon: 'M20 14.5A8.5 8.5 0 119.5 4 7 7 0 0020 14.5z',
  auto: 'M12 3a9 9 0 100 18 9 9 0 000-18zM12 3v18M12 7h7M12 12h9M12 17h7',
  leave: 'M14 4H6v16h8M10 12h11M17 8l4 4-4 4',
  search: 'M10.5 4a6.5 6.5 0 100 13 6.5 6.5 0 000-13zM15.5 15.5L21 21',
  file: 'M6 3h8l4 4v14H6zM14 3v5h4',
  table: 'M4 5h16v14H4zM4 10h16M4 14.5h16M10 5v14',
  picture: 'M4 5h16v14H4zM4 16l5-5 4 4 3-3 4 4M15.5 9.5h.01',
  download: 'M12 4v11M7 11l5 5 5-5M5 20h14',
  trash: 'M5 7h14M9 7V4h6v3M7 7l1 13h8l1-13M10 11v5M14 11v5',
  plus: 'M12 5v14M5 12h14',
  close: 'M6 6l12 12M18 6L6 18',
  stop: 'M7 7h10v10H7z',
  warning: 'M12 4l9 16H3zM12 10v5M12 17.5v.5',
  clock: 'M12 3a9 9 0 100 18 9 9 0 000-18zM12 7v5l3 2',
  check: 'M5 12.5l4.5 4.5L19 7.5',
  cross: 'M7 7l10 10M17 7L7 17',
  down: 'M6 9l6 6 6-6',
  back: 'M15 5l-7 7 7 7',
  copy: 'M9 9h11v11H9zM5 15H4V4h11v1',
  upload: 'M12 20V9M7 13l5-5 5 5M5 4h14',
  memory: 'M6 6h12v12H6zM9 3v3M15 3v3M9 18v3M15 18v3M3 9h3M3 15h3M18 9h3M18 15h3',
};

export function Icon({name}: {name: string}) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={ICONS[name] ?? ''} />
    </svg>
  );
}

// ---- untrusted text

/** A name: one line, every character visible, isolated from the direction of what stands around it. */
export const Name = ({text, class: extra = ''}: {text: string; class?: string}) => (
  <bdi class={'name ' + extra} dir="ltr">
    {visibleLine(String(text))}
  </bdi>
);

export const Ansi = ({text}: {text: string}) => (
  <>{parseAnsi(text).map(piece => (piece.classes ? <span class={piece.classes}>{piece.text}</span> : piece.text))}</>
);

// ---- times

const clock = {now: Date.now(), listeners: new Set<() => void>()};
setInterval(() => {
  if (document.hidden) return;
  clock.now = Date.now();
  clock.listeners.forEach(listener => listener());
}, 10_000);

export function Time({at, prefix = ''}: {at: string | number; prefix?: string}) {
  const time = typeof at === 'number' ? at : Date.parse(at);
  const [, redraw] = useState(0);
  useEffect(() => {
    const listener = () => redraw(n => n + 1);
    clock.listeners.add(listener);
    return () => {
      clock.listeners.delete(listener);
    };
  }, []);
  if (!Number.isFinite(time)) return <span>unknown time</span>;
  return (
    <time dateTime={new Date(time).toISOString()} title={exact(time)}>
      {prefix}
      {relative(time, Math.max(clock.now, Date.now() - 10_000))}
    </time>
  );
}

// ---- states

export const Loading = ({what = 'Loading'}: {what?: string}) => (
  <div class="loading" role="status">
    <span class="spinner" aria-hidden="true" />
    {what}…
  </div>
);

/** `page`: it is all that there is to see. */
export const Empty = ({
  icon,
  title,
  page,
  children,
}: {
  icon: string;
  title: string;
  page?: boolean;
  children?: ComponentChildren;
}) => (
  <div class="empty">
    <div class="empty-icon">
      <Icon name={icon} />
    </div>
    {page ? <h1>{title}</h1> : <h2>{title}</h2>}
    {children && <div class="empty-text">{children}</div>}
  </div>
);

export const messageOf = (problem: unknown) =>
  problem instanceof Error ? visibleLine(problem.message) : 'Something failed.';
export const isGone = (problem: unknown) => problem instanceof ApiError && problem.status === 404;

export function Problem({problem, retry}: {problem: unknown; retry?: () => void}) {
  return (
    <div class="problem" role="alert">
      <Icon name="warning" />
      <div>{messageOf(problem)}</div>
      {retry && (
        <button type="button" class="small" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}

export function Outcome({outcome, words}: {outcome: string; words?: string}) {
  const tone = toneOf(outcome);
  const icon = {good: 'check', bad: 'cross', warn: 'warning', quiet: 'stop'}[tone];
  return (
    <span class={`outcome tone-${tone}`}>
      <Icon name={icon} />
      {words ?? shortOf(outcome)}
    </span>
  );
}

// ---- links and dialogs

export function Link({
  to,
  children,
  ...rest
}: {to: string; children: ComponentChildren} & JSX.HTMLAttributes<HTMLAnchorElement>) {
  const follow = (event: MouseEvent) => {
    if (
      event.defaultPrevented ||
      event.button !== 0 ||
      event.metaKey ||
      event.ctrlKey ||
      event.shiftKey ||
      event.altKey
    )
      return;
    event.preventDefault();
    navigate(to);
  };
  return (
    <a {...rest} href={href(to)} onClick={follow}>
      {children}
    </a>
  );
}

export function Dialog({
  title,
  onClose,
  children,
  wide,
}: {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
  wide?: boolean;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const element = dialog.current!;
    const before = document.activeElement;
    element.showModal();
    return () => {
      element.close();
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  const cancel = (event: Event) => {
    event.preventDefault();
    onClose();
  };
  const outside = (event: MouseEvent) => {
    if (event.target === dialog.current) onClose();
  };
  return (
    <dialog ref={dialog} class={wide ? 'wide' : ''} aria-label={title} onCancel={cancel} onClick={outside}>
      <div class="dialog-body">
        <header>
          <h2>{title}</h2>
          <button type="button" class="plain" aria-label="Close" onClick={onClose}>
            <Icon name="close" />
          </button>
        </header>
        {children}
      </div>
    </dialog>
  );
}

export interface Question {
  title: string;
  text: ComponentChildren;
  action: string;
  run: () => Promise<void>;
}

/** Asks before something is lost. Stays open and says why if it fails. */
export function Confirm({question, onClose}: {question: Question; onClose: () => void}) {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<unknown>(null);
  const go = async () => {
    setBusy(true);
    try {
      await question.run();
      onClose();
    } catch (caught) {
      setProblem(caught);
      setBusy(false);
    }
  };
  return (
    <Dialog title={question.title} onClose={onClose}>
      <p>{question.text}</p>
      {problem != null && <Problem problem={problem} />}
      <div class="actions">
        <button type="button" onClick={onClose}>
          Cancel
        </button>
        <button type="button" class="danger" disabled={busy} onClick={go}>
          {question.action}
        </button>
      </div>
    </Dialog>
  );
}

// ---- what a screen reader is told

export function announce(text: string) {
  const region = document.getElementById('announcer');
  if (region) region.textContent = text;
}

// ---- loading

export interface Loaded<T> {
  value: T | null;
  problem: unknown;
  reload: () => void;
}

/** Loads something, again whenever `keys` change, and every `everyMs` while the page is looked at. */
export function useLoad<T>(load: () => Promise<T>, keys: unknown[], everyMs?: number): Loaded<T> {
  const [state, setState] = useState<{value: T | null; problem: unknown}>({value: null, problem: null});
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    let over = false,
      timer: ReturnType<typeof setTimeout> | undefined;
    const again = () => {
      if (everyMs && !over) timer = setTimeout(go, everyMs);
    };
    const go = async () => {
      if (document.hidden && everyMs) return again();
      try {
        const value = await load();
        if (!over) setState({value, problem: null});
      } catch (problem) {
        if (!over) setState(before => ({value: everyMs ? before.value : null, problem}));
      }
      again();
    };
    void go();
    return () => {
      over = true;
      clearTimeout(timer);
    };
  }, [...keys, turn]);
  return {...state, reload: () => setTurn(n => n + 1)};
}

/** Saves text or bytes that the page has already; the name cannot lead anywhere. */
export function save(name: string, content: BlobPart, type = 'application/octet-stream') {
  const url = URL.createObjectURL(new Blob([content], {type}));
  const link = document.createElement('a');
  link.href = url;
  link.download = visibleLine(name).replace(/[/\\]/g, '_') || 'file';
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
