// Small charts as SVG: bars stacked by outcome, and lines. No library: three shapes do.
import {useState} from 'preact/hooks';
import {count, duration} from './format';
import type {Minute, Outcome} from './types';
import {OUTCOMES} from './format';

const WIDTH = 600,
  HEIGHT = 170,
  LEFT = 62,
  BOTTOM = 24,
  TOP = 8;
const innerWidth_ = WIDTH - LEFT - 4,
  innerHeight_ = HEIGHT - BOTTOM - TOP;

const ORDER = Object.keys(OUTCOMES) as Outcome[];

/** 0, 1, 2, 5, 10, 20, …: the next round number. */
function roundUp(value: number): number {
  if (value <= 1) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map(n => n * power).find(n => n >= value)!;
}

const clock = new Intl.DateTimeFormat(undefined, {hour: '2-digit', minute: '2-digit'});

function Axes({most, label, minutes}: {most: number; label: (value: number) => string; minutes: Minute[]}) {
  const marks = [0, most / 2, most];
  const at = [0, Math.floor(minutes.length / 2), minutes.length - 1].filter(index => index >= 0);
  return (
    <g class="axes">
      {marks.map(mark => {
        const y = TOP + innerHeight_ * (1 - mark / most);
        return (
          <>
            <line x1={LEFT} x2={WIDTH - 4} y1={y} y2={y} />
            <text x={LEFT - 6} y={y + 4} text-anchor="end">
              {label(mark)}
            </text>
          </>
        );
      })}
      {at.map((index, place) => (
        <text
          x={LEFT + (innerWidth_ * (index + 0.5)) / minutes.length}
          y={HEIGHT - 5}
          text-anchor={['start', 'middle', 'end'][place]}
        >
          {clock.format(Date.parse(minutes[index]!.at))}
        </text>
      ))}
    </g>
  );
}

export function RunsChart({minutes}: {minutes: Minute[]}) {
  const [over, setOver] = useState<number | null>(null);
  const most = Math.max(2, roundUp(Math.max(...minutes.map(minute => minute.runs), 0)));
  const step = innerWidth_ / minutes.length;
  const total = minutes.reduce((sum, minute) => sum + minute.runs, 0);
  const peak = Math.max(...minutes.map(minute => minute.runs), 0);
  const shown = over === null ? null : minutes[over];
  return (
    <figure class="chart">
      <figcaption>
        <h3>Runs per minute</h3>
        <span class="chart-now">
          {shown ? `${clock.format(Date.parse(shown.at))}: ${count(shown.runs)}` : `${count(total)} in the last hour`}
        </span>
      </figcaption>
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        role="img"
        aria-label={`Runs per minute: ${count(total)} in the last hour, at most ${count(peak)} in one minute`}
        onPointerLeave={() => setOver(null)}
      >
        <Axes most={most} label={count} minutes={minutes} />
        {minutes.map((minute, index) => {
          let y = TOP + innerHeight_;
          return (
            <g onPointerEnter={() => setOver(index)}>
              <rect class="hit" x={LEFT + index * step} y={TOP} width={step} height={innerHeight_} />
              {ORDER.map(outcome => {
                const height = (innerHeight_ * (minute.outcomes[outcome] ?? 0)) / most;
                if (height <= 0) return null;
                y -= height;
                return (
                  <rect
                    class={`fill-${OUTCOMES[outcome].tone}`}
                    x={LEFT + index * step + step * 0.12}
                    y={y}
                    width={step * 0.76}
                    height={height}
                    rx="1"
                  />
                );
              })}
            </g>
          );
        })}
      </svg>
    </figure>
  );
}

const LINES = [
  ['p50', '50 %'],
  ['p95', '95 %'],
  ['p99', '99 %'],
] as const;

export function LatencyChart({
  minutes,
  member,
  title,
}: {
  minutes: Minute[];
  member: 'wall_ms' | 'start_ms';
  title: string;
}) {
  const values = minutes.map(minute => minute[member]);
  const most = roundUp(Math.max(...values.map(value => value?.p99 ?? 0), 0.001));
  const last = [...values].reverse().find(Boolean);
  const x = (index: number) => LEFT + (innerWidth_ * (index + 0.5)) / minutes.length;
  const y = (value: number) => TOP + innerHeight_ * (1 - Math.min(value, most) / most);
  const path = (name: 'p50' | 'p95' | 'p99') => {
    let text = '',
      open = false;
    values.forEach((value, index) => {
      if (!value) {
        open = false;
        return;
      }
      text += `${open ? 'L' : 'M'}${x(index).toFixed(1)} ${y(value[name]).toFixed(1)}`;
      open = true;
    });
    return text;
  };
  const words = last
    ? LINES.map(([name, share]) => `${share} within ${duration(last[name])}`).join(', ')
    : 'no runs in the last hour';
  return (
    <figure class="chart">
      <figcaption>
        <h3>{title}</h3>
        <span class="legend">
          {LINES.map(([name, share]) => (
            <span>
              <i class={'key-' + name} />
              {share}
              {last && <b> {duration(last[name])}</b>}
            </span>
          ))}
        </span>
      </figcaption>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={`${title}, latest minute with runs: ${words}`}>
        <Axes most={most} label={value => duration(value)} minutes={minutes} />
        {LINES.map(([name]) => (
          <g class={'line-' + name}>
            <path d={path(name)} />
            {values.map(
              (value, index) =>
                value &&
                !values[index - 1] &&
                !values[index + 1] && <circle cx={x(index)} cy={y(value[name])} r="2.5" />,
            )}
          </g>
        ))}
      </svg>
    </figure>
  );
}

export function OutcomeChart({minutes}: {minutes: Minute[]}) {
  const sums = ORDER.map(
    outcome => [outcome, minutes.reduce((sum, minute) => sum + (minute.outcomes[outcome] ?? 0), 0)] as const,
  );
  const total = sums.reduce((sum, [, n]) => sum + n, 0);
  return (
    <figure class="chart">
      <figcaption>
        <h3>Outcomes</h3>
        <span class="chart-now">last hour</span>
      </figcaption>
      {total === 0 && <p class="quiet note">No runs in the last hour.</p>}
      <ul class="bars">
        {sums
          .filter(([, n]) => n > 0)
          .map(([outcome, n]) => (
            <li>
              <span>{OUTCOMES[outcome].short}</span>
              <svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
                <rect class="track" width="100" height="8" />
                <rect class={`fill-${OUTCOMES[outcome].tone}`} width={(100 * n) / total} height="8" />
              </svg>
              <b>{count(n)}</b>
              <span class="quiet">{((100 * n) / total).toFixed(n === total ? 0 : 1)} %</span>
            </li>
          ))}
      </ul>
    </figure>
  );
}

/** `scarce`: a full one means that there is no room. */
export function Meter({value, most, label, scarce}: {value: number; most: number; label: string; scarce: boolean}) {
  return (
    <svg class="meter" viewBox="0 0 100 6" preserveAspectRatio="none" role="img" aria-label={label}>
      <rect class="track" width="100" height="6" rx="3" />
      <rect
        class={scarce && value >= most ? 'fill-warn' : 'fill-accent'}
        width={most > 0 ? Math.min(100, (100 * value) / most) : 0}
        height="6"
        rx="3"
      />
    </svg>
  );
}
