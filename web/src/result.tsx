// The value of a last expression, and charts.
import {useState} from 'preact/hooks';
import {visible} from './ansi';
import {SealedFrame} from './frame';
import {readTable} from './html';
import {DataTable} from './table';
import type {MimeMap} from './types';
import {Dialog, Icon} from './ui';

const PICTURES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];
const TEXT_MAX = 20_000;

/** A member of the map itself, never of what objects inherit, and only as text. */
const member = (map: MimeMap, type: string): string | null => {
  const value = Object.prototype.hasOwnProperty.call(map, type) ? map[type] : undefined;
  if (value === undefined) return null;
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2);
};

export function Picture({
  src,
  alt,
  name,
  children,
}: {
  src: string;
  alt: string;
  name: string;
  children?: preact.ComponentChildren;
}) {
  const [large, setLarge] = useState(false);
  const [failed, setFailed] = useState(false);
  if (failed)
    return (
      <p class="gone">
        <Icon name="clock" />
        {alt} cannot be shown: it is broken, or no longer kept.
      </p>
    );
  return (
    <figure class="picture">
      <button type="button" class="picture-button" aria-label={`Enlarge: ${alt}`} onClick={() => setLarge(true)}>
        <img src={src} alt={alt} loading="lazy" decoding="async" onError={() => setFailed(true)} />
      </button>
      <figcaption>
        {children ?? <span>{alt}</span>}
        {!children && (
          <a class="more" href={src} download={name}>
            <Icon name="download" />
            Save
          </a>
        )}
      </figcaption>
      {large && (
        <Dialog title={alt} wide onClose={() => setLarge(false)}>
          <img class="large" src={src} alt={alt} />
        </Dialog>
      )}
    </figure>
  );
}

function Html({html, plain, title}: {html: string; plain: string | null; title: string}) {
  const [open, setOpen] = useState(plain === null);
  const table = readTable(html);
  if (table)
    return (
      <section class="value">
        <h3>Table</h3>
        <DataTable head={table.head} body={table.body} label={title} />
        {(table.note || table.cut) && (
          <p class="quiet note">
            {visible(table.note)}
            {table.cut && ' The first 200 rows are shown.'}
          </p>
        )}
      </section>
    );
  return (
    <section class="value">
      <h3>Value</h3>
      {plain !== null && (
        <pre tabIndex={0} role="group" aria-label={title}>
          {visible(plain.slice(0, TEXT_MAX))}
        </pre>
      )}
      {open ? (
        <SealedFrame content={html} kind="html" title={title} />
      ) : (
        <button type="button" class="more" onClick={() => setOpen(true)}>
          Show as a page
        </button>
      )}
    </section>
  );
}

export function Result({map, number, run}: {map: MimeMap; number: number; run: string}) {
  const plain = member(map, 'text/plain');
  const title = `Result ${number} of ${run}`;
  for (const type of PICTURES) {
    const data = member(map, type);
    if (data && /^[A-Za-z0-9+/=\s]+$/.test(data))
      return (
        <Picture
          src={`data:${type};base64,${data.replace(/\s/g, '')}`}
          alt={`Chart ${number} of ${run}`}
          name={`chart-${number}.${type.slice(6)}`}
        />
      );
  }
  const svg = member(map, 'image/svg+xml');
  if (svg) return <SealedFrame content={svg} kind="svg" title={title} />;
  const html = member(map, 'text/html');
  if (html) return <Html html={html} plain={plain} title={title} />;
  const text = plain ?? member(map, 'text/markdown') ?? member(map, 'text/latex') ?? member(map, 'application/json');
  if (text === null) return <p class="quiet note">A value of a kind that cannot be shown here.</p>;
  return (
    <section class="value">
      <h3>Value</h3>
      <pre tabIndex={0} role="group" aria-label={title}>
        {visible(text.slice(0, TEXT_MAX))}
        {text.length > TEXT_MAX && ' …'}
      </pre>
    </section>
  );
}
