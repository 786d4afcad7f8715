import * as z from 'zod'
import { Formation } from '../../../../devices/swarm/formation.ts'
import { DeviceRef } from '../../inventory/operations/devices/device-ref.ts'
import { AnchorInput } from '../config.ts'

/** Shape of a formation, in the skill and the operations. */
export const FORMATION_SHAPE = {
  formation: Formation.default('line').describe('Shape that the units form.'),
  spacing_m: z
    .number()
    .min(0.1)
    .max(1000)
    .default(1)
    .describe('Distance between neighbours, in metres.'),
}

/** Selection of the devices that take part; the configuration decides what is absent. */
const SELECTION = {
  members: z
    .array(DeviceRef)
    .min(1)
    .max(200)
    .exactOptional()
    .describe('Units by id or name; all idle movable devices of the site by default.'),
  site: z.string().min(1).max(64).exactOptional().describe('Site of the units.'),
}

/** A formation as somebody asks for it. */
export const FORMATION_INPUT = {
  ...FORMATION_SHAPE,
  ...SELECTION,
  anchor: AnchorInput.exactOptional().describe(
    'Centre and heading; the centre of the units by default.',
  ),
}
export const FormationInput = z.strictObject(FORMATION_INPUT)
export type FormationInput = z.output<typeof FormationInput>
