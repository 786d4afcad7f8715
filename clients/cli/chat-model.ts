import { ShoalError } from '../../shared/errors.ts'
import { escapeHidden } from '../../shared/visible.ts'
import { GuidedError } from './describe-failure.ts'
import { matchObjects } from './resolve-ids.ts'

/**
 * The model that an id or the beginning of one stands for. Throws `model_not_found`, and
 * `invalid_request` where it stands for several.
 */
export const findChatModel = (ids: readonly string[], wanted: string): string => {
  const found = matchObjects(
    ids.map(id => ({ id, name: undefined })),
    wanted,
  )
  const [only] = found
  if (only === undefined)
    throw new ShoalError('model_not_found', `there is no chat model ${escapeHidden(wanted)}`)
  if (found.length === 1) return only.id
  const all = found.map(({ id }) => escapeHidden(id)).join(', ')
  throw new GuidedError(
    'invalid_request',
    `${escapeHidden(wanted)} matches ${found.length} models: ${all}`,
    'use an id',
  )
}
