// What a run printed.
import {useState} from 'preact/hooks';
import {bytes} from './format';
import {Ansi, Icon, save} from './ui';

const LINES_FIRST = 30,
  TEXT_FIRST = 8000,
  TEXT_MAX = 200_000;

function firstPart(text: string): string {
  let at = -1;
  for (let line = 0; line < LINES_FIRST; line++) {
    at = text.indexOf('\n', at + 1);
    if (at < 0) return text.slice(0, TEXT_FIRST);
  }
  return text.slice(0, Math.min(at + 1, TEXT_FIRST));
}

export function Output({
  text,
  label,
  title,
  name,
  truncated,
  bad,
}: {
  text: string;
  label: string;
  title: string;
  name: string;
  truncated: boolean;
  bad?: boolean;
}) {
  const [whole, setWhole] = useState(false);
  if (!text) return null;
  const first = firstPart(text);
  const shown = whole ? text.slice(0, TEXT_MAX) : first;
  const rest = text.length - shown.length;
  return (
    <section class={bad ? 'output bad' : 'output'}>
      <h3>{label}</h3>
      <pre tabIndex={0} role="group" aria-label={`${label} of ${title}`}>
        <Ansi text={shown} />
      </pre>
      {(rest > 0 || truncated) && (
        <div class="output-foot">
          {rest > 0 && !whole && (
            <button type="button" class="more" onClick={() => setWhole(true)}>
              Show all, {bytes(text.length)}
            </button>
          )}
          {rest > 0 && whole && <span>The first {bytes(TEXT_MAX)} are shown.</span>}
          {truncated && <span>It printed more: the middle was cut out.</span>}
          <button type="button" class="more" onClick={() => save(name + '.txt', text, 'text/plain')}>
            <Icon name="download" />
            Save as text
          </button>
        </div>
      )}
    </section>
  );
}
