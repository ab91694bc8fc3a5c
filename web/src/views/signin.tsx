// Signing in. The key stays in the field until it is sent; nothing of it is kept by the page.
import {useRef, useState} from 'preact/hooks';
import {ApiError, signIn} from '../api';
import {ThemeButton} from '../app';
import type {Session} from '../types';
import {messageOf} from '../ui';

const wordsFor = (problem: unknown) => {
  if (problem instanceof ApiError && problem.status === 401) return 'This key is unknown, or was revoked.';
  if (problem instanceof ApiError && problem.status === 429)
    return 'Too many wrong keys from your address. ' + messageOf(problem);
  return messageOf(problem);
};

export function SignIn({expired, onSignedIn}: {expired: boolean; onSignedIn: (session: Session) => void}) {
  const field = useRef<HTMLInputElement>(null);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const submit = async (event: Event) => {
    event.preventDefault();
    const key = field.current!.value.trim();
    if (!key) {
      setProblem('Paste a key first.');
      return field.current!.focus();
    }
    setBusy(true);
    setProblem(null);
    try {
      onSignedIn(await signIn(key));
    } catch (caught) {
      setProblem(wordsFor(caught));
      setBusy(false);
      field.current!.select();
    }
  };
  return (
    <main class="signin">
      <div class="corner">
        <ThemeButton />
      </div>
      <form onSubmit={submit} noValidate>
        <div class="brand">
          <span class="mark" aria-hidden="true" />
          Console
        </div>
        <h1>Sign in</h1>
        <p class="quiet">See what your agents ran, what came of it, and the files they left.</p>
        {expired && !problem && (
          <p class="notice" role="status">
            Your session is over. Sign in again to go on.
          </p>
        )}
        <label for="key">Key of a project, or an admin key</label>
        <input
          id="key"
          ref={field}
          type="password"
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          placeholder="sbx_…"
          aria-invalid={problem ? 'true' : undefined}
          aria-describedby="key-note"
        />
        <p id="key-note" class={problem ? 'wrong' : 'quiet'} role={problem ? 'alert' : undefined}>
          {problem ?? 'It is sent once and kept neither in this page nor in its address.'}
        </p>
        <button type="submit" class="primary" disabled={busy}>
          {busy ? 'Signing in…' : 'Sign in'}
        </button>
      </form>
    </main>
  );
}
