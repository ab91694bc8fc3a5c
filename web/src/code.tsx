// The code of a run: numbered lines, in colours, with the line marked that an error came from.
import {useEffect, useState} from 'preact/hooks';
import {visible, visibleLine, type Piece} from './ansi';
import {count, type RunError} from './format';

const LINES_FIRST = 40,
  COLOURED_MAX = 200_000,
  LINE_MAX = 5000;

const plainLines = (code: string): Piece[][] => code.split('\n').map(text => [{text, classes: ''}]);

/** Long lines and hidden characters would make a page unusable or untrue. */
function shown(line: Piece[]): Piece[] {
  let room = LINE_MAX;
  const pieces: Piece[] = [];
  for (const piece of line) {
    if (room <= 0) break;
    pieces.push({text: visible(piece.text.slice(0, room)), classes: piece.classes});
    room -= piece.text.length;
  }
  if (room < 0) pieces.push({text: ' … the line goes on', classes: 'quiet'});
  return pieces;
}

function Line({pieces, error, number}: {pieces: Piece[]; error: RunError | null; number: number}) {
  const marked = error?.line === number;
  return (
    <span class={marked ? 'line marked' : 'line'}>
      {marked && <span class="unseen">The error came from this line: </span>}
      {shown(pieces).map(piece => (piece.classes ? <span class={piece.classes}>{piece.text}</span> : piece.text))}
      {'\n'}
      {marked && (
        <span class="line-note">
          {visibleLine(error.message ? `${error.name}: ${error.message}` : error.name).slice(0, 300)}
        </span>
      )}
    </span>
  );
}

export function Code({code, error, label}: {code: string; error: RunError | null; label: string}) {
  const trimmed = code.replace(/\n+$/, '');
  const [lines, setLines] = useState<Piece[][]>(() => plainLines(trimmed));
  const [whole, setWhole] = useState(false);
  useEffect(() => {
    let over = false;
    if (trimmed.length <= COLOURED_MAX)
      void import('./highlight').then(
        module => {
          if (!over) setLines(module.highlight(trimmed));
        },
        () => {},
      );
    return () => {
      over = true;
    };
  }, [trimmed]);
  // Never hide the line that is at fault.
  const first = Math.max(LINES_FIRST, (error?.line ?? 0) + 3);
  const cut = !whole && lines.length > first + 5;
  return (
    <div class="code-box">
      <pre class="code" tabIndex={0} role="group" aria-label={label}>
        <code>
          {(cut ? lines.slice(0, first) : lines).map((line, index) => (
            <Line pieces={line} error={error} number={index + 1} />
          ))}
        </code>
      </pre>
      {cut && (
        <button type="button" class="more" onClick={() => setWhole(true)}>
          Show all {count(lines.length)} lines
        </button>
      )}
    </div>
  );
}
