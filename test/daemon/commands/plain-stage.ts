import * as z from 'zod'
import type { Verb } from '../../../daemon/commands/verb.ts'
import type { StoppableDevices } from '../../../daemon/estop/stoppable-devices.ts'
import { newId } from '../../../shared/ids.ts'
import type { Hazard } from '../../../shared/wire/command.ts'
import { NOTHING_SEEN } from '../../../shared/wire/device-outcome.ts'
import { ARM, ROVER_ID } from '../../support/device-ids.ts'
import { devicesWith } from '../../support/devices-with.ts'
import type { CreateStage, StagedCommand, StageLife } from './stage.ts'

const CELL = newId('cell')

const nameOf = (act: 'do' | 'stop', hazard: Hazard): string => `${act}-${hazard}`

const createVerb = (act: 'do' | 'stop', hazard: Hazard, life: StageLife): Verb => ({
  verb: nameOf(act, hazard),
  description: '',
  hazard,
  timeout_seconds: 60,
  ...(act === 'stop' ? { urgent: true } : {}),
  params: z.strictObject({ number: z.int() }),
  plan: ({ number }) => ({ operations: [number as number], bounds: {} }),
  run: async ({ operations: [number] }) => {
    const command = life.findRunning(({ params }) => params.number === number)
    if (command === undefined) throw new Error(`nobody has issued command ${number}`)
    return act === 'stop' ? life.onStop(command) : life.onRun(command)
  },
})

const createPlainVerbs = (life: StageLife): Verb[] => [
  ...(['read', 'safe', 'caution', 'unsafe'] as const).map(hazard => createVerb('do', hazard, life)),
  createVerb('stop', 'safe', life),
]

/** Command of the cell itself, or of a device that has the same verbs. */
const createPlainCommand = (
  cell_id: string,
  act: 'do' | 'stop',
  hazard: Hazard,
  device_id: string | undefined,
  number: number,
): StagedCommand => {
  const target = { ...(device_id && { device_id }), verb: nameOf(act, hazard), hazard }
  const part = { cell_id, ...target, operations: [number], bounds: {} }
  return { target: { ...target, params: { number } }, part }
}

const PLAIN_DEVICES = { arm: ARM, rover: ROVER_ID }

const STOPPABLE: StoppableDevices = {
  listDevices: () => [
    { deviceId: ARM, name: 'arm', site: 'hall', isAvailable: true, atEstop: 'hold' },
    { deviceId: ROVER_ID, name: 'rover', site: null, isAvailable: true, atEstop: 'hold' },
  ],
  onChange: () => () => {},
  stopDevice: async () => NOTHING_SEEN,
}

/** Verbs that do nothing but have a hazard, of the cell itself and of two devices. */
export const createPlainStage: CreateStage = () => ({
  cellId: CELL,
  open: life => {
    const verbs = createPlainVerbs(life)
    return { verbs, devices: devicesWith(() => verbs), stoppable: STOPPABLE }
  },
  create: (act, hazard, device, number) =>
    createPlainCommand(
      CELL,
      act,
      hazard,
      device === 'none' ? undefined : PLAIN_DEVICES[device],
      number,
    ),
  passTime: () => {},
})
