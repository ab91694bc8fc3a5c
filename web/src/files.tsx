// Files that a run left: pictures where they stand, tables by their first rows, the rest by type and size.
import {useEffect, useState} from 'preact/hooks';
import {fileAddress, fileText} from './api';
import {visible, visibleLine} from './ansi';
import {parseCsv, separatorOf, type Table} from './csv';
import {bytes, counted, kindOf, SKIPPED} from './format';
import {SealedFrame} from './frame';
import {Picture} from './result';
import {DataTable} from './table';
import type {KeptFile, Reply} from './types';
import {Icon, isGone, Loading, messageOf, Name, save} from './ui';

const PREVIEW_BYTES = 64 << 10,
  SHOW_BYTES = 512 << 10,
  ROWS_FIRST = 8,
  ROWS_MORE = 60;
const PICTURES = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp']);
const TABLES = new Set(['text/csv', 'text/tab-separated-values']);
const READABLE = /^text\/|^application\/(json|xml|x-yaml|yaml|javascript|x-python)$|^image\/svg\+xml$/;

const isInline = (file: KeptFile) => file.content_base64 !== undefined;
const decoded = (file: KeptFile) => Uint8Array.from(atob(file.content_base64!), c => c.charCodeAt(0));

async function textOf(file: KeptFile, most: number): Promise<string> {
  if (isInline(file)) return new TextDecoder().decode(decoded(file).subarray(0, most));
  if (file.size === 0) return '';
  return fileText(file.file_id, most);
}

function Download({file}: {file: KeptFile}) {
  const label = `Download ${visibleLine(file.name)}`;
  if (isInline(file))
    return (
      <button
        type="button"
        class="more"
        aria-label={label}
        onClick={() => save(file.name, decoded(file), file.media_type)}
      >
        <Icon name="download" />
        Download
      </button>
    );
  if (file.url === null) return <span class="quiet">not kept</span>;
  return (
    <a class="more" aria-label={label} href={fileAddress(file.file_id, true)} download="">
      <Icon name="download" />
      Download
    </a>
  );
}

const About = ({file, icon, children}: {file: KeptFile; icon: string; children?: preact.ComponentChildren}) => (
  <div class="file-about">
    <Icon name={icon} />
    <Name text={file.name} class="file-name" />
    <span class="quiet file-kind">
      {kindOf(file.media_type)}, {bytes(file.size)}
    </span>
    {children}
    <Download file={file} />
  </div>
);

const Gone = ({problem}: {problem: unknown}) => (
  <p class="gone">
    <Icon name="clock" />
    {isGone(problem) ? 'No longer kept: files go with their conversation.' : messageOf(problem)}
  </p>
);

function useText(file: KeptFile, most: number, wanted: boolean) {
  const [state, setState] = useState<{text: string | null; problem: unknown}>({text: null, problem: null});
  useEffect(() => {
    let over = false;
    if (wanted)
      textOf(file, most).then(
        text => {
          if (!over) setState({text, problem: null});
        },
        problem => {
          if (!over) setState({text: null, problem});
        },
      );
    return () => {
      over = true;
    };
  }, [file.file_id, wanted]);
  return state;
}

function TableFile({file}: {file: KeptFile}) {
  const [more, setMore] = useState(false);
  const {text, problem} = useText(file, PREVIEW_BYTES, true);
  let table: Table | null = null;
  if (text !== null)
    table = parseCsv(
      text,
      separatorOf(text, file.media_type),
      1 + (more ? ROWS_MORE : ROWS_FIRST),
      file.size <= PREVIEW_BYTES,
    );
  const [head = [], ...body] = table?.rows ?? [];
  const label = `First rows of ${visibleLine(file.name)}`;
  return (
    <div class="file">
      <About file={file} icon="table" />
      {problem != null && <Gone problem={problem} />}
      {text === null && problem == null && <Loading what="Reading its first rows" />}
      {table && table.rows.length === 0 && <p class="quiet note">The file is empty.</p>}
      {table && table.rows.length > 0 && (
        <>
          <DataTable head={[head]} body={body.map(row => row.map(cell => ({text: cell})))} label={label} />
          <p class="note quiet">
            {table.complete ? `All ${counted(body.length, 'row')}.` : `The first ${counted(body.length, 'row')}.`}
            {!table.complete && !more && body.length >= ROWS_FIRST && (
              <button type="button" class="more" onClick={() => setMore(true)}>
                Show more rows
              </button>
            )}
          </p>
        </>
      )}
    </div>
  );
}

function PictureFile({file}: {file: KeptFile}) {
  const src = isInline(file) ? `data:${file.media_type};base64,${file.content_base64}` : fileAddress(file.file_id);
  return (
    <div class="file">
      <Picture src={src} alt={`Picture ${visibleLine(file.name)}`} name={file.name}>
        <About file={file} icon="picture" />
      </Picture>
    </div>
  );
}

function OtherFile({file}: {file: KeptFile}) {
  const [open, setOpen] = useState(false);
  const {text, problem} = useText(file, SHOW_BYTES, open);
  const isSvg = file.media_type === 'image/svg+xml',
    isPage = isSvg || file.media_type === 'text/html';
  const fits = file.size <= SHOW_BYTES || !isPage;
  const title = `Content of ${visibleLine(file.name)}`;
  return (
    <div class="file">
      <About file={file} icon="file">
        {READABLE.test(file.media_type) && fits && file.url !== null && (
          <button type="button" class="more" aria-expanded={open} onClick={() => setOpen(!open)}>
            {open ? 'Hide' : 'Show'}
            <span class="unseen"> {visibleLine(file.name)}</span>
          </button>
        )}
      </About>
      {open && problem != null && <Gone problem={problem} />}
      {open && text === null && problem == null && <Loading what="Reading it" />}
      {open && text !== null && isPage && <SealedFrame content={text} kind={isSvg ? 'svg' : 'html'} title={title} />}
      {open && text !== null && !isPage && (
        <pre class="file-text" tabIndex={0} role="group" aria-label={title}>
          {visible(text)}
        </pre>
      )}
    </div>
  );
}

export function FileCard({file}: {file: KeptFile}) {
  if (PICTURES.has(file.media_type)) return <PictureFile file={file} />;
  if (TABLES.has(file.media_type)) return <TableFile file={file} />;
  return <OtherFile file={file} />;
}

const FIRST = 12;

export function Files({
  reply,
}: {
  reply: Pick<Reply, 'files' | 'files_skipped' | 'files_skipped_unnamed' | 'files_complete'>;
}) {
  const [whole, setWhole] = useState(false);
  const shown = whole ? reply.files : reply.files.slice(0, FIRST);
  const skipped = reply.files_skipped ?? [];
  if (reply.files.length === 0 && skipped.length === 0) return null;
  return (
    <section class="files">
      <h3>{counted(reply.files.length, 'file')}</h3>
      {shown.map(file => (
        <FileCard key={file.file_id} file={file} />
      ))}
      {reply.files.length > shown.length && (
        <button type="button" class="more" onClick={() => setWhole(true)}>
          Show all {counted(reply.files.length, 'file')}
        </button>
      )}
      {skipped.length > 0 && (
        <ul class="skipped">
          {skipped.slice(0, 50).map(file => (
            <li>
              <Icon name="warning" />
              <Name text={file.name} />{' '}
              <span class="quiet">
                ({bytes(file.size)}) was not kept: {SKIPPED[file.reason] ?? file.reason}
              </span>
            </li>
          ))}
        </ul>
      )}
      {reply.files_complete === false && (
        <p class="quiet note">The sandbox ended before all files could be looked at.</p>
      )}
    </section>
  );
}
