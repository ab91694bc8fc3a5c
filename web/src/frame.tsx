// The sealed frame in which HTML and drawings of untrusted code are shown; see html.ts.
import {useEffect, useRef, useState} from 'preact/hooks';
import {fillFrame, svgPage} from './html';

export function SealedFrame({content, kind, title}: {content: string; kind: 'html' | 'svg'; title: string}) {
  const frame = useRef<HTMLIFrameElement>(null);
  const [tall, setTall] = useState(false);
  useEffect(() => {
    if (frame.current) fillFrame(frame.current, kind === 'svg' ? svgPage(content) : content);
  }, [content]);
  return (
    <figure class={tall ? 'sealed tall' : 'sealed'}>
      <iframe ref={frame} sandbox="" title={title} loading="lazy" referrerpolicy="no-referrer" />
      <figcaption>
        <span>
          {kind === 'svg' ? 'A drawing' : 'A page'} made by the code, sealed off: nothing in it can run or load
          anything.
        </span>
        <button type="button" class="more" aria-pressed={tall} onClick={() => setTall(!tall)}>
          {tall ? 'Smaller' : 'Larger'}
        </button>
      </figcaption>
    </figure>
  );
}
