import { openSigner } from '../../shared/signing.ts'
import type { Verb } from '../commands/verb.ts'
import type { FleetCell } from '../fleet-cell.ts'
import { signingKeyFile } from '../identity.ts'
import type { Question } from '../questions/question.ts'
import type { Service } from '../service.ts'
import { deviceListService } from '../services/device-list.ts'
import { devicesService } from '../services/devices.ts'
import { EstopService } from '../services/estop.ts'
import type { Uplink } from '../uplink/uplink.ts'
import { createDeviceQuestions } from './device-questions.ts'
import { openFormationVerb } from './formation/open-formation-verb.ts'
import { DEVICE_QUESTIONS } from './questions/index.ts'
import { createStoppableDevices } from './stoppable-host.ts'

/** Services that report the devices of a cell and keep their list for the next start. */
export const listDeviceServices = (
  { parts: { config, logger }, devices: { host } }: FleetCell,
  uplink: Uplink,
  onListChange: () => void,
): Service[] => [
  devicesService({ host, uplink, onListChange, logger }),
  deviceListService({ stateDir: config.state_dir, host, now: Date.now, logger }),
]

/** Attaches the e-stops of a cell to its devices, and opens their service. */
export const openEstops = async (
  { parts: { config, estop, logger }, identity, listTrustedKeys, devices }: FleetCell,
  uplink: Uplink,
): Promise<Service> => {
  const cellId = identity.cell_id
  estop.attach({ cellId, devices: createStoppableDevices(devices.host) })
  return new EstopService({
    cellId,
    estop,
    uplink,
    signer: await openSigner(signingKeyFile(config.state_dir)),
    listTrustedKeys,
    now: Date.now,
    logger,
  })
}

/** Verb that moves the devices of a cell in a formation; `askTime` asks the coordinators for their time. */
export const openCellFormation = (
  { parts: { estop }, identity, devices: { host }, clock }: FleetCell,
  askTime: () => Promise<void>,
): Verb => openFormationVerb({ cellId: identity.cell_id, host, estop, clock, askTime })

/** Answers the questions of the coordinators about devices. */
export const openDeviceQuestions = ({ devices: { host, mqtt, context } }: FleetCell): Question =>
  createDeviceQuestions(DEVICE_QUESTIONS, { ...context, host, mqtt })
