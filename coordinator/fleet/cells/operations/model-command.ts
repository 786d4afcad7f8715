import * as z from 'zod'
import { type ErrorCode, ShoalError } from '../../../../shared/errors.ts'
import { createUnknownError } from '../../../../shared/reference-errors.ts'
import type { SuccessRule } from '../../../../shared/success-rule.ts'
import { AckState } from '../../../../shared/wire/command.ts'
import { ModelStanding } from '../../../../shared/wire/model-standing.ts'
import { ModelState } from '../../../../shared/wire/telemetry.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { type CommandRecord, isFinalCommandState } from '../../control/command.ts'
import { commandEnd } from '../../control/command-end.ts'
import type { ControlViews } from '../../control/open.ts'
import type { EnrolmentViews } from '../../enrolment/open.ts'
import { engineReports } from '../cell.ts'
import { CellRef } from '../cell-field.ts'
import type { FleetViews } from '../open.ts'
import type { Presence } from '../presence.ts'

export const ModelInput = z.strictObject({
  cell_id: CellRef,
  model: z.string().max(128).describe('Id of a model that the cell offers.'),
})

/** `null` means unknown: the cell has not answered yet, or has nothing to report. */
export const ModelAnswer = z.object({
  cell_id: z.string(),
  model: z.string(),
  state: ModelState.nullable(),
  /** Phase of `loading`: downloading, checking or loading. */
  phase: z.string().nullable(),
  progress_percent: z.number().nullable(),
  remaining_seconds: z.int().nullable(),
  pinned: z.boolean().nullable(),
  reason: z.string().nullable(),
  command_id: z.string(),
  command_state: z.enum(['queued', 'sent', ...AckState.options]),
})
type ModelAnswer = z.input<typeof ModelAnswer>

/** A cell that refuses is an error; what fails is a model that cannot be loaded. */
export const MODEL_SUCCESS = {
  field: 'state',
  codes: { ready: 0, loading: 0, cold: 0, null: 0, failed: 69 },
} satisfies SuccessRule

type Act = 'load' | 'unload' | 'pin' | 'unpin' | 'pull'

const CONNECTED: ReadonlySet<Presence> = new Set(['ready', 'degraded', 'draining'])
const TTL_SECONDS = 30
/** A cell answers within seconds; longer than this nobody should have to wait. */
const ANSWER_MS = 15_000

/**
 * Sends a model command to a cell and returns the state of the model afterwards. Throws
 * `not_found`, `model_not_found`, `cell_unavailable`, and `conflict` when the cell refuses.
 */
export const commandModel = async (
  act: Act,
  { cell_id, model }: z.output<typeof ModelInput>,
  {
    cells,
    fleet,
    commands,
    actor,
    signal,
    runtime,
  }: Context & ControlViews & EnrolmentViews & FleetViews,
): Promise<ModelAnswer> => {
  const cell = await cells.get(cell_id)
  if (cell === undefined || cell.revokedAt !== undefined) throw createUnknownError('cell', cell_id)
  requireModel(fleet.cell(cell_id), cell_id, model)
  const request = {
    cellId: cell_id,
    verb: `model-${act}`,
    params: { model },
    mode: 'live' as const,
    ttlSeconds: TTL_SECONDS,
    noted: { model },
  }
  const made = await commands.create(request, actor)
  const command = await commandEnd(commands, made, { timeoutMs: ANSWER_MS, signal, runtime })
  return answerOf(command, model)
}

const requireModel = (
  live: ReturnType<FleetViews['fleet']['cell']>,
  cellId: string,
  model: string,
): void => {
  if (live === undefined || !CONNECTED.has(live.presence))
    throw new ShoalError('cell_unavailable', `${cellId} is not connected`)
  const models = engineReports(live).flatMap(report => report.models)
  if (!models.includes(model))
    throw createUnknownError('model', model, {
      where: `on ${cellId}`,
      next: `shoal cells show ${cellId}`,
    })
}

const answerOf = (command: CommandRecord, model: string): ModelAnswer => {
  if (isFinalCommandState(command.state) && command.state !== 'succeeded') throw refusal(command)
  const standing = ModelStanding.safeParse(command.result).data
  return {
    cell_id: command.cellId,
    model,
    state: standing?.state ?? null,
    phase: standing?.phase ?? null,
    progress_percent: standing?.progress_percent ?? null,
    remaining_seconds: standing?.remaining_seconds ?? null,
    pinned: standing?.pinned ?? null,
    reason: standing?.reason ?? null,
    command_id: command.id,
    command_state: command.state,
  }
}

/** Refusals of a cell that are the requester's fault and are passed on unchanged. */
const PASSED_ON: readonly ErrorCode[] = ['conflict', 'model_not_found']

const refusal = ({ cellId, state, reason, message }: CommandRecord): ShoalError => {
  const code = PASSED_ON.find(known => known === reason) ?? 'cell_unavailable'
  return new ShoalError(code, message ?? `${cellId} says: ${reason ?? state}`)
}
