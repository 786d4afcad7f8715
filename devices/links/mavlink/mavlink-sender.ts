import { encodeFrame } from './frame.ts'
import type { MavlinkSocket } from './mavlink-socket.ts'
import type { Message, MessageValues } from './message.ts'
import { COMMAND_INT, COMMAND_LONG, HEARTBEAT, HOME_POSITION } from './messages.ts'
import type { MavlinkOperation } from './operations.ts'
import type { Vehicle } from './vehicle.ts'

/** `MAV_COMP_ID_MISSIONPLANNER`: the component id of ground stations. */
const COMPONENT_ID = 190
/** `MAV_TYPE_GCS`, `MAV_AUTOPILOT_INVALID` and `MAV_STATE_ACTIVE`. */
const OWN_HEARTBEAT = { type: 6, autopilot: 8, system_status: 4, mavlink_version: 3 }

/** `MAV_CMD_REQUEST_MESSAGE`; its first parameter is the id of the message. */
const REQUEST_MESSAGE = 512

/** Sends the frames of this cell, in the version that the vehicle speaks. */
export class MavlinkSender {
  readonly #socket: Pick<MavlinkSocket, 'send'>
  readonly #systemId: number
  #sequence = 0

  constructor(socket: Pick<MavlinkSocket, 'send'>, systemId: number) {
    this.#socket = socket
    this.#systemId = systemId
  }

  /** Sends a command; `attempt` counts from 0. */
  sendOperation(vehicle: Vehicle, { message, fields }: MavlinkOperation, attempt: number): void {
    if (message === 'COMMAND_INT') this.#send(vehicle, COMMAND_INT, fields)
    else this.#send(vehicle, COMMAND_LONG, { ...fields, confirmation: attempt })
  }

  sendHeartbeat(vehicle: Vehicle): void {
    this.#send(vehicle, HEARTBEAT, OWN_HEARTBEAT)
  }

  /** Asks a vehicle where it was launched; nothing else tells the way of a return. */
  requestLaunch(vehicle: Vehicle): void {
    const { systemId: target_system, componentId: target_component } = vehicle.ids
    const target = { target_system, target_component }
    this.#send(vehicle, COMMAND_LONG, {
      ...target,
      command: REQUEST_MESSAGE,
      param1: HOME_POSITION.id,
    })
  }

  #send<M extends Message>(
    { peer, version }: Vehicle,
    message: M,
    values: Partial<MessageValues<M['fields']>>,
  ): void {
    if (peer === undefined) return
    const ids = { systemId: this.#systemId, componentId: COMPONENT_ID }
    const head = { sequence: this.#sequence++, ...ids, version }
    this.#socket.send(encodeFrame(message, values, head), peer)
  }
}
