import type { PropertyFacts } from '../../../shared/wire/device.ts'
import { SHARED_PROPERTIES } from '../../properties.ts'

/** Largest targets that any printer of the vendor reaches; an envelope of heat does not exist. */
export const MAX_NOZZLE_CELSIUS = 300
export const MAX_BED_CELSIUS = 120
/** A printer reports every second, or once it has a change to report. */
const STALE_AFTER_MS = 60_000

const createNumber = (title: string, unit?: string, max?: number): PropertyFacts => ({
  title,
  type: 'number',
  ...(unit !== undefined && { unit }),
  min: 0,
  ...(max !== undefined && { max }),
  stale_after_ms: STALE_AFTER_MS,
})

/** Readings of a printer. */
export const PRINTER_PROPERTIES: Record<string, PropertyFacts> = {
  state: {
    title: 'State',
    type: 'text',
    options: ['idle', 'init', 'slicing', 'prepare', 'running', 'pause', 'finish', 'failed'],
    stale_after_ms: STALE_AFTER_MS,
  },
  progress_percent: createNumber('Progress', '%', 100),
  remaining_minutes: createNumber('Remaining time', 'min'),
  nozzle_celsius: createNumber('Nozzle temperature', '°C'),
  nozzle_target_celsius: createNumber('Nozzle target', '°C', MAX_NOZZLE_CELSIUS),
  bed_celsius: createNumber('Bed temperature', '°C'),
  bed_target_celsius: createNumber('Bed target', '°C', MAX_BED_CELSIUS),
  chamber_celsius: createNumber('Chamber temperature', '°C'),
  layer: createNumber('Layer'),
  layers: createNumber('Layers of the job'),
  error_code: createNumber('Error code'),
  warnings: createNumber('Health messages'),
  job: { title: 'Job', type: 'text', stale_after_ms: STALE_AFTER_MS },
  light_on: { title: 'Chamber light', type: 'boolean', stale_after_ms: STALE_AFTER_MS },
  link_quality_percent: SHARED_PROPERTIES.link_quality_percent,
}
