import { escapeHidden } from '../../shared/visible.ts'

/** Fields of a cell of `GET /v1/cells` that are shown. */
export interface TopCell {
  id: string
  name: string
  presence: string
  drained: boolean
  labels: Record<string, string>
  models: string[]
  gpu_percent: number | null
  vram_used_percent: number | null
  slots_busy_percent: number | null
  queued: number | null
}

/** `GET /v1/alerts`. */
export interface AlertList {
  fleet_degraded: boolean
  alerts: {
    level: string
    rule: string
    cell_id: string | null
    message: string
    raised_at: string
    cleared_at: string | null
  }[]
}

export interface TopData {
  cells: TopCell[]
  utilization: {
    composite_percent: number | null
    gpu_percent: number | null
    vram_percent: number | null
    slots_busy_percent: number | null
    items_per_hour: number
    active_cells: number
  }
  alerts: AlertList
}

interface ScreenSize {
  columns: number
  rows: number
  colour: boolean
}

const BAR_WIDTH = 10
const NAME_WIDTH = 20
/** Everything in the line of a cell but its three bars. */
const REST_WIDTH = 63
/** Select Graphic Rendition (ECMA-48, 8.3.117). */
const COLOURS = { good: 32, warn: 33, bad: 31, faint: 2 } as const

/** One screen: the fleet in a few figures, then a line per cell, the worst first. */
export const topView = (
  { cells: all, utilization, alerts }: TopData,
  screen: ScreenSize,
): string => {
  const paint = painter(screen.colour)
  const width = barWidth(screen.columns)
  const heading = (text: string): string => text.padEnd(width + 6)
  const cells = all.filter(({ presence }) => presence !== 'revoked')
  const head = [
    `cells ${utilization.active_cells}/${cells.length}  ` +
      `load ${percent(utilization.composite_percent)}  gpu ${percent(utilization.gpu_percent)}  ` +
      `vram ${percent(utilization.vram_percent)}  slots ${percent(utilization.slots_busy_percent)}  ` +
      `requests/h ${utilization.items_per_hour}`,
    alertLine(alerts),
    '',
    `${'CELL'.padEnd(NAME_WIDTH)}  ${'PRESENCE'.padEnd(9)}  ${heading('GPU')}  ${heading('VRAM')}  ` +
      `${heading('SLOTS')}  QUEUED`,
  ]
  const room = Math.max(1, screen.rows - head.length - 2)
  const sorted = cells.toSorted((a, b) => rank(a) - rank(b) || a.name.localeCompare(b.name))
  const lines = sorted.slice(0, room).map(cell => cellLine(cell, width, paint))
  const more = sorted.length - lines.length
  if (more > 0) lines.push(`and ${more} more`)
  return [...head.map(line => line.slice(0, screen.columns)), ...lines].join('\n')
}

/** A percentage for people; unknown is a dash and not 0. */
const percent = (value: number | null): string => (value === null ? '-' : `${Math.round(value)} %`)

type Paint = (colour: keyof typeof COLOURS, text: string) => string

const painter =
  (enabled: boolean): Paint =>
  (colour, text) =>
    enabled ? `\u001b[${COLOURS[colour]}m${text}\u001b[0m` : text

/** Width of a bar; on a narrow terminal only the numbers remain. */
const barWidth = (columns: number): number =>
  Math.max(0, Math.min(BAR_WIDTH, Math.floor((columns - REST_WIDTH) / 3)))

const cellLine = (cell: TopCell, width: number, paint: Paint): string =>
  [
    escapeHidden(cell.name).slice(0, NAME_WIDTH).padEnd(NAME_WIDTH),
    paint(colourOf(cell), cell.presence.padEnd(9)),
    bar(cell.gpu_percent, width, paint, false),
    bar(cell.vram_used_percent, width, paint, true),
    bar(cell.slots_busy_percent, width, paint, false),
    cell.queued ?? '-',
  ].join('  ')

/**
 * Bar and number; an unknown value has no bar. `limited` marks values that are critical when full.
 */
const bar = (value: number | null, width: number, paint: Paint, limited: boolean): string => {
  if (value === null) return paint('faint', `${' '.repeat(width)}     -`)
  const filled = Math.round((Math.min(100, value) * width) / 100)
  const marks = '#'.repeat(filled).padEnd(width, '.')
  const colour = limited && value > 95 ? 'bad' : limited && value > 90 ? 'warn' : 'good'
  return `${paint(colour, marks)} ${percent(value).padStart(5)}`
}

const ORDER = [
  'dead',
  'suspect',
  'degraded',
  'quarantined',
  'draining',
  'ready',
  'stopped',
  'unknown',
]

const rank = ({ presence }: TopCell): number => {
  const at = ORDER.indexOf(presence)
  return at === -1 ? ORDER.length : at
}

const colourOf = ({ presence }: TopCell): keyof typeof COLOURS => {
  if (presence === 'ready') return 'good'
  if (presence === 'draining' || presence === 'degraded') return 'warn'
  return presence === 'unknown' || presence === 'stopped' ? 'faint' : 'bad'
}

const alertLine = ({ alerts, fleet_degraded }: AlertList): string => {
  const [first] = alerts
  if (first === undefined) return 'no alerts'
  const about = escapeHidden(`${first.cell_id ?? 'fleet'}: ${first.message}`)
  const state = fleet_degraded ? 'FLEET DEGRADED, ' : ''
  return `${state}${alerts.length} alert${alerts.length === 1 ? '' : 's'}; newest: ${about}`
}
