import * as z from 'zod'
import { ShoalError } from '../../../../../shared/errors.ts'
import { HOST_PROBES } from '../../../../../shared/probes/host-probes.ts'
import type { HostProbe, ProbeShape } from '../../../../../shared/probes/probe.ts'
import { createUnknownError } from '../../../../../shared/reference-errors.ts'
import { HOST_DATA_MAX_BYTES, HOST_PROBE_SECONDS } from '../../../../../shared/wire/host-probe.ts'
import { limitJson } from '../../../../kernel/declaration/bounded-json.ts'
import type { Context } from '../../../../kernel/declaration/context.ts'
import { defineOperation, type Operation } from '../../../../kernel/declaration/operation.ts'
import { CellRef } from '../../../cells/cell-field.ts'
import type { FleetViews } from '../../../cells/open.ts'
import type { EnrolmentViews } from '../../../enrolment/open.ts'
import { askForProbe } from '../../cell-probe.ts'

const Row = z.looseObject({})

/** The fields of an answer are the library's, and differ from machine to machine. */
const SHAPES: Record<ProbeShape, z.ZodType> = {
  object: Row,
  list: z.array(Row),
  text: z.string(),
  number: z.number(),
}

/** A look at the machine of one cell, as an operation. */
const operationOf = (probe: HostProbe): Operation<Context & EnrolmentViews & FleetViews> => {
  const { units, reach } = probe
  const data = limitJson(SHAPES[probe.shape].nullable(), HOST_DATA_MAX_BYTES)
  return defineOperation({
    id: `host-${probe.id}`,
    description: probe.description,
    method: 'GET',
    path: `/v1/cells/{cell_id}/host/${probe.id}`,
    access: 'operator',
    effect: 'read',
    openWorld: reach === 'lan' || reach === 'internet',
    timeoutSeconds: HOST_PROBE_SECONDS + 1,
    cli: { group: 'host', verb: probe.id, ...(units === undefined ? {} : { units }) },
    input: z.strictObject({ cell_id: CellRef, ...probe.input.shape }),
    output: z.object({
      available: z
        .boolean()
        .describe('False when this machine cannot provide the data; data is null then.'),
      reason: z
        .string()
        .max(500)
        .nullable()
        .describe('Why the data is unavailable, or which part of it was omitted.'),
      taken_at: z.iso.datetime().describe("Time of the reading, by the cell's clock."),
      cell_id: z.string(),
      data,
    }),
    run: async (
      { cell_id, ...input },
      { cells, fleet, signal }: Context & EnrolmentViews & FleetViews,
    ) => {
      if ((await cells.get(cell_id)) === undefined) throw createUnknownError('cell', cell_id)
      const answer = await askForProbe(fleet, cell_id, probe, input, signal)
      if (!data.safeParse(answer.data).success)
        throw new ShoalError('cell_unavailable', `cell ${cell_id} returned no ${probe.shape}`)
      return { ...answer, cell_id, taken_at: new Date(answer.taken_at).toISOString() }
    },
  })
}

/** Every host probe; each is one operation. */
export default HOST_PROBES.map(operationOf)
