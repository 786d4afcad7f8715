import * as z from 'zod'
import { figure } from '../../../shared/unknown-fields.ts'

const percentUnless = (reason: string) => figure(z.number().min(0).max(100).nullable(), reason)

/** Utilization of the fleet, as answers show it. */
export const UTILIZATION_FIGURES = {
  composite_percent: percentUnless('no cell that is up reports its load').describe(
    'Mean of the GPU, VRAM and slot percentages that are known; null when none is.',
  ),
  gpu_percent: percentUnless('no cell that is up reports the load of a GPU'),
  vram_percent: percentUnless('no cell that is up reports the memory of a GPU'),
  slots_busy_percent: percentUnless('no cell that is up has slots'),
}
