import { escapeMarkup } from '../../kernel/base/escape-markup.ts'
import { NO_FLOAT_DAYS } from './critical-path.ts'
import type { Schedule } from './schedule.ts'

/** What a chart shows of a task beside its times. */
interface ChartTask {
  id: string
  name?: string | undefined
  /** Completed share, from 0 to 100. */
  completePercent?: number | undefined
}

const ROW_PX = 24
const BAR_PX = 12
const HEAD_PX = 48
const LABEL_PX = 240
const CHART_PX = 960
const MARGIN_PX = 24
const LABEL_LENGTH = 34
/** Least distance of two labels on the time axis. */
const TICK_PX = 72
/** A short project has a label for each day. */
const DAY_PX = 80

const STYLE = `
text{font:12px system-ui,sans-serif;fill:#1b1b1b}.title{font-weight:600;font-size:14px}.axis{fill:#555;font-size:11px}
.grid{stroke:#e3e3e3}.row{fill:#f6f7f9}.bar{fill:#4a7fb5}.critical{fill:#c0392b}.done{fill:#000;fill-opacity:.3}
.float{stroke:#9aa5b1;stroke-dasharray:3 2}.link{fill:none;stroke:#7a7a7a}.driving{stroke:#c0392b}`

/**
 * Draws a Gantt chart as an SVG document: bars at the early times, dashed lines for total float,
 * diamonds for milestones, arrows for links; critical tasks and the links that drive them are red. The
 * document loads nothing and runs no script, and every text in it is escaped.
 */
export const drawGanttSvg = (
  schedule: Schedule,
  tasks: readonly ChartTask[],
  title: string,
): string => new Chart(schedule, tasks, title).draw()

class Chart {
  readonly #schedule: Schedule
  readonly #tasks: readonly ChartTask[]
  readonly #title: string
  readonly #pxPerDay: number

  constructor(schedule: Schedule, tasks: readonly ChartTask[], title: string) {
    this.#schedule = schedule
    this.#tasks = tasks
    this.#title = title
    this.#pxPerDay = Math.min(DAY_PX, CHART_PX / Math.max(schedule.times.durationDays, 1e-3))
  }

  draw(): string {
    const width = LABEL_PX + this.#spanPx + 2 * MARGIN_PX
    const height = HEAD_PX + this.#tasks.length * ROW_PX + MARGIN_PX
    return [
      `<svg xmlns="http://www.w3.org/2000/svg" width="${px(width)}" height="${height}" viewBox="0 0 ${px(width)} ${height}" role="img">`,
      `<title>${escapeText(this.#title)}</title><style>${STYLE}</style>`,
      '<defs><marker id="arrow" viewBox="0 0 6 6" refX="6" refY="3" markerWidth="6" markerHeight="6" orient="auto"><path d="M0 0L6 3L0 6z" fill="#7a7a7a"/></marker></defs>',
      `<rect width="100%" height="100%" fill="#fff"/><text class="title" x="8" y="18">${escapeText(this.#title)}</text>`,
      ...this.#tasks.flatMap((_, at) => (at % 2 === 0 ? [] : [this.#drawStripe(at, width)])),
      ...this.#drawAxis(height),
      ...Array.from(this.#schedule.network.to, (_, at) => this.#drawLink(at)),
      ...this.#tasks.map((task, at) => this.#drawTask(task, at)),
      '</svg>',
      '',
    ].join('\n')
  }

  get #spanPx(): number {
    return this.#schedule.times.durationDays * this.#pxPerDay
  }

  #x(days: number): number {
    return LABEL_PX + MARGIN_PX + days * this.#pxPerDay
  }

  #drawStripe(at: number, width: number): string {
    return `<rect class="row" y="${HEAD_PX + at * ROW_PX}" width="${px(width)}" height="${ROW_PX}"/>`
  }

  /** Days from the start of the project, or dates. */
  #drawAxis(height: number): string[] {
    const { calendar, times } = this.#schedule
    const step = niceStep(TICK_PX / this.#pxPerDay)
    const count = Math.floor(times.durationDays / step) + 1
    return Array.from({ length: count }, (_, tick) => {
      const x = px(this.#x(tick * step))
      const label = calendar?.startDate(tick * step) ?? `day ${tick * step}`
      return `<line class="grid" x1="${x}" x2="${x}" y1="${HEAD_PX}" y2="${height}"/><text class="axis" x="${x}" y="${HEAD_PX - 8}">${label}</text>`
    })
  }

  #drawTask(task: ChartTask, at: number): string {
    const { times, network } = this.#schedule
    const days = network.durations[at] as number
    const [start, float] = [times.earlyStart[at] as number, times.totalFloat[at] as number]
    const top = HEAD_PX + at * ROW_PX
    const style = float === 0 ? 'bar critical' : 'bar'
    const label = task.name ?? task.id
    const hint = `${label}: day ${round(start)} to ${round(start + days)}, total float ${round(float)} days`
    const shape =
      days === 0
        ? drawDiamond(this.#x(start), top + ROW_PX / 2, style, hint)
        : this.#drawBar({ start, days, top, style, hint, done: task.completePercent ?? 0 })
    return `<text x="8" y="${top + 16}">${escapeText(shorten(label))}</text>${this.#drawFloat(start + days, float, top)}${shape}`
  }

  #drawBar({ start, days, top, style, hint, done }: Bar): string {
    const [x, y] = [px(this.#x(start)), top + (ROW_PX - BAR_PX) / 2]
    const width = Math.max(1, days * this.#pxPerDay)
    const bar = `<rect class="${style}" x="${x}" y="${y}" width="${px(width)}" height="${BAR_PX}" rx="2"><title>${escapeText(hint)}</title></rect>`
    if (done === 0) return bar
    return `${bar}<rect class="done" x="${x}" y="${y}" width="${px((width * done) / 100)}" height="${BAR_PX}" rx="2"/>`
  }

  #drawFloat(finish: number, float: number, top: number): string {
    if (float === 0) return ''
    const y = top + ROW_PX / 2
    return `<line class="float" x1="${px(this.#x(finish))}" x2="${px(this.#x(finish + float))}" y1="${y}" y2="${y}"/>`
  }

  /** An elbow that leaves and arrives at the ends that the type of the link names. */
  #drawLink(at: number): string {
    const { network, times } = this.#schedule
    const [from, to] = [network.from[at] as number, network.to[at] as number]
    const leaves = network.leavesFinish[at] === 1
    const arrives = network.arrivesFinish[at] === 1
    const end = (task: number, isFinish: boolean): number =>
      (times.earlyStart[task] as number) + (isFinish ? (network.durations[task] as number) : 0)
    const [left, arrived] = [end(from, leaves), end(to, arrives)]
    const slack = arrived - left - (network.lags[at] as number)
    const isDriving = slack < NO_FLOAT_DAYS && times.totalFloat[to] === 0
    const [x1, x2] = [this.#x(left), this.#x(arrived)]
    const [y1, y2] = [middleOf(from), middleOf(to)]
    const between = y2 > y1 ? y2 - ROW_PX / 2 : y2 + ROW_PX / 2
    return `<path class="${isDriving ? 'link driving' : 'link'}" marker-end="url(#arrow)" d="M${px(x1)} ${y1}h${leaves ? 6 : -6}V${between}H${px(x2 + (arrives ? 8 : -8))}V${y2}H${px(x2)}"/>`
  }
}

interface Bar {
  start: number
  days: number
  top: number
  style: string
  hint: string
  done: number
}

const middleOf = (row: number): number => HEAD_PX + row * ROW_PX + ROW_PX / 2

const drawDiamond = (x: number, y: number, style: string, hint: string): string => {
  const [left, right, half] = [px(x - BAR_PX / 2), px(x + BAR_PX / 2), BAR_PX / 2]
  return `<path class="${style}" d="M${left} ${y}L${px(x)} ${y - half}L${right} ${y}L${px(x)} ${y + half}z"><title>${escapeText(hint)}</title></path>`
}

/** The smallest of 1, 2, 5, 10, 20, 50 … that is not below `least`. */
const niceStep = (least: number): number => {
  const power = 10 ** Math.max(0, Math.floor(Math.log10(least)))
  return [1, 2, 5, 10].map(factor => factor * power).find(step => step >= least) ?? 10 * power
}

const px = (value: number): number => Math.round(value * 10) / 10
const round = (days: number): number => Math.round(days * 100) / 100

const shorten = (label: string): string => {
  const characters = [...label]
  return characters.length <= LABEL_LENGTH
    ? label
    : `${characters.slice(0, LABEL_LENGTH - 1).join('')}…`
}

/** Escapes text, without the characters that XML 1.0 has no place for (section 2.2). */
const escapeText = (value: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is replaced
  escapeMarkup(value.replaceAll(/[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g, '\ufffd'))
