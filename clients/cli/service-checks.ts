import type { CoordinatorReply, DoctorResult } from './doctor-result.ts'

/** Check of the service that clients of models see. */
export const checkService = ({ body }: CoordinatorReply): DoctorResult => {
  const { status, cells, models } = body as { status: string; cells: number; models: number }
  const says = `${status}: ${countOf(cells, 'cell')}, ${countOf(models, 'model')}`
  if (status === 'ok') return { name: 'service', state: 'ok', says }
  const next =
    'shoal models list names the models that are not ready, shoal models show MODEL says why, and shoal cells list shows the cells'
  if (status !== 'unavailable') return { name: 'service', state: 'warn', says, next }
  return { name: 'service', state: 'fail', says, next, code: 'cell_unavailable' }
}

const countOf = (count: number, thing: string): string =>
  `${count} ${thing}${count === 1 ? '' : 's'}`

const NEXT = {
  broker: 'check the log of the coordinator and whether its broker runs',
  store:
    'check the log of the coordinator: its disk may be full or its store damaged; check the audit with shoal audit verify',
}
const CODES = { broker: 'broker_unavailable', store: 'store_unavailable' } as const

/** Usage accepted as missing is no longer expected; only the audit records the acceptance. */
const COMPLETE =
  'complete, except for hours that operators accepted as missing (usage.accept in the audit)'

/** Check of the recorded usage. */
export const checkUsage = ({ body }: CoordinatorReply): DoctorResult[] => {
  const state = (body as Record<string, unknown> | undefined)?.usage
  // an older coordinator does not say
  if (state === undefined) return []
  const name = 'usage'
  if (state === 'ok') return [{ name, state: 'ok', says: COMPLETE }]
  const says = 'some that was recorded is missing or was changed'
  const next = 'shoal alerts list shows the hours and what to do'
  return [{ name, state: 'warn', says, next }]
}

/** Check of the stored rows; the names of their tables are for operators alone. */
export const checkRows = ({ body }: CoordinatorReply): DoctorResult[] => {
  const { damaged_rows: damaged } = (body ?? {}) as { damaged_rows?: number }
  // an older coordinator does not say
  if (damaged === undefined) return []
  const name = 'rows'
  if (damaged === 0) return [{ name, state: 'ok', says: 'all that were read are readable' }]
  const next =
    'the log of the coordinator names each one: a newer version may have written it, otherwise restore it from a backup'
  return [{ name, state: 'warn', says: `${countOf(damaged, 'stored row')} cannot be read`, next }]
}

/** Check of the broker and the store. */
export const checkParts = ({ body }: CoordinatorReply): DoctorResult[] =>
  (['broker', 'store'] as const).map(name => {
    const state = (body as Record<string, unknown> | undefined)?.[name]
    if (state === 'ok') return { name, state: 'ok', says: 'ok' }
    const [next, code] = [NEXT[name], CODES[name]]
    return { name, state: 'fail', says: String(state ?? 'unknown'), next, code }
  })
