import * as z from 'zod'
import { createUnknownError } from '../../../../shared/reference-errors.ts'
import {
  AskedView,
  SeenView,
  toAskedView,
  toSeenView,
} from '../../../fleet/control/operations/commands/outcome-view.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import type { StartedFormation } from '../formation.table.ts'
import type { SwarmViews } from '../open.ts'
import { FormationView, formationViewOf } from './swarm-view.ts'

export const FormationId = z.string().max(64).describe('Id of a formation.')

/** A formation with its parts and the ends of its units. */
export const FormationDetails = FormationView.extend({
  parts: z.array(
    z.object({
      cell_id: z.string(),
      part_hash: z.string(),
      command_id: z.string(),
      /** State of the command; null once it is forgotten. */
      state: z.string().nullable(),
      message: z.string().nullable(),
    }),
  ),
  /** Ends of the units; null until all are known. */
  outcome: z
    .array(
      z.object({
        device_id: z.string(),
        cell_id: z.string(),
        /** Distance from its slot; null when it is not known. */
        distance_m: z.number().nullable(),
        reached: z.boolean(),
        asked: AskedView.nullable().describe(
          'Operations of its newest move; null before the first.',
        ),
        seen: SeenView.nullable().describe('State observed after them.'),
      }),
    )
    .nullable(),
  /** The plan as people approved it. */
  plan: z.json(),
})

/** Throws `not_found`. */
export const requireFormation = async (
  id: string,
  { formations }: Pick<SwarmViews, 'formations'>,
): Promise<StartedFormation> => {
  const found = await formations.get(id)
  if (found !== undefined) return found
  throw createUnknownError('formation', id)
}

export const describeFormation = async (
  one: StartedFormation,
  { formations, now }: Pick<Context, 'now'> & Pick<SwarmViews, 'formations'>,
): Promise<z.input<typeof FormationDetails>> => {
  const commands = new Map((await formations.listCommands(one)).map(each => [each.id, each]))
  return {
    ...formationViewOf(one, now()),
    parts: one.parts.map(({ cellId, partHash, commandId }) => {
      const { state, message, reason } = commands.get(commandId) ?? {}
      return {
        cell_id: cellId,
        part_hash: partHash,
        command_id: commandId,
        state: state ?? null,
        message: message ?? reason ?? null,
      }
    }),
    outcome:
      one.outcome?.map(({ asked, seen, ...unit }) => ({
        ...unit,
        asked: asked === undefined ? null : toAskedView(asked),
        seen: seen === undefined ? null : toSeenView(seen),
      })) ?? null,
    plan: one.plan as unknown as z.core.util.JSONType,
  }
}
