import type { SuccessRule } from '../../../../shared/success-rule.ts'

/** Rule of an answer that has a formation at `path`, which is null in a dry run. */
export const formationSuccess = (path?: string): SuccessRule => {
  const at = (field: string) => (path === undefined ? field : `${path}.${field}`)
  return {
    field: at('state'),
    codes: {
      waiting: 75,
      moving: 75,
      aborting: 75,
      reached: 0,
      aborted: 69,
      failed: 69,
      ...(path !== undefined && { null: 0 }),
    },
    later: { operation: 'swarm-show', input: { formation_id: at('formation_id') }, field: 'state' },
  }
}

/** Rule of an abort: the formation that has not reached its goal any more is what was asked for. */
export const ABORT_SUCCESS: SuccessRule = {
  field: 'state',
  codes: { waiting: 75, moving: 75, aborting: 75, reached: 0, aborted: 0, failed: 69 },
}
