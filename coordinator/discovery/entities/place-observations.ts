import type { Observation } from '../../../discovery/entities/observation.ts'
import { cellSettingsTable } from '../../fleet/enrolment/cell-settings.table.ts'
import type { SealedTrx } from '../../kernel/store/store.ts'
import { readInParts } from './evidence-rows.ts'

/** Site of cells without the label `site`: they are taken to see one network. */
const DEFAULT_SITE = 'default'

/** Gives observations of cells their site: the cell's label `site`. */
export const placeObservations = async (
  trx: SealedTrx,
  observations: readonly Observation[],
): Promise<Observation[]> => {
  const cellIds = observations.flatMap(({ cellId }) => cellId ?? [])
  const rows = await readInParts(cellIds, part =>
    trx.selectFrom('cell_settings').selectAll().where('cell_id', 'in', part).execute(),
  )
  const settings = rows.map(cellSettingsTable.read)
  const sites = new Map(settings.map(({ cellId, labels }) => [cellId, labels.site]))
  return observations.map(observation => {
    const { cellId } = observation
    if (cellId === undefined) return observation
    return { ...observation, site: sites.get(cellId) ?? DEFAULT_SITE }
  })
}
