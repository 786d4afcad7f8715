import { encodeFrame } from './frame.ts'
import type { MavlinkSocket } from './mavlink-socket.ts'
import type { Message, MessageValues } from './message.ts'
import { COMMAND_INT, COMMAND_LONG, HEARTBEAT } from './messages.ts'
import type { MavlinkOperation } from './operations.ts'
import { REQUEST_DATA_STREAM } from './status-messages.ts'
import type { Vehicle } from './vehicle.ts'

/** `MAV_COMP_ID_MISSIONPLANNER`: the component id of ground stations. */
const COMPONENT_ID = 190
/** `MAV_TYPE_GCS`, `MAV_AUTOPILOT_INVALID` and `MAV_STATE_ACTIVE`. */
const OWN_HEARTBEAT = { type: 6, autopilot: 8, system_status: 4, mavlink_version: 3 }

/** `MAV_CMD_SET_MESSAGE_INTERVAL`: id of the message, and its interval in microseconds. */
const SET_MESSAGE_INTERVAL = 511
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

  /** Sends a command; `attempt` counts from 0. A parameter of null is NaN. */
  sendOperation(vehicle: Vehicle, operation: MavlinkOperation, attempt: number): void {
    if (operation.message === 'COMMAND_INT') {
      this.#send(vehicle, COMMAND_INT, fillParams(operation.fields))
    } else {
      const fields = fillParams(operation.fields)
      this.#send(vehicle, COMMAND_LONG, { ...fields, confirmation: attempt })
    }
  }

  sendHeartbeat(vehicle: Vehicle): void {
    this.#send(vehicle, HEARTBEAT, OWN_HEARTBEAT)
  }

  /** Asks a vehicle to send a message in an interval. */
  requestInterval(vehicle: Vehicle, messageId: number, interval_us: number): void {
    const params = { param1: messageId, param2: interval_us }
    this.#sendCommand(vehicle, SET_MESSAGE_INTERVAL, params)
  }

  /** Asks a vehicle for a group of messages, the older way. */
  requestGroup(vehicle: Vehicle, req_stream_id: number, req_message_rate: number): void {
    const fields = { ...targetOf(vehicle), req_stream_id, req_message_rate, start_stop: 1 }
    this.#send(vehicle, REQUEST_DATA_STREAM, fields)
  }

  /** Asks a vehicle for its heartbeat at once: it has the mode. */
  requestHeartbeat(vehicle: Vehicle): void {
    this.#sendCommand(vehicle, REQUEST_MESSAGE, { param1: HEARTBEAT.id })
  }

  #sendCommand(vehicle: Vehicle, command: number, params: Record<string, number>): void {
    this.#send(vehicle, COMMAND_LONG, { ...targetOf(vehicle), command, ...params })
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

const targetOf = ({ ids }: Vehicle) => ({
  target_system: ids.systemId,
  target_component: ids.componentId,
})

type Filled<F> = { [K in keyof F]: number }

const fillParams = <F extends object>(fields: F): Filled<F> =>
  Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name, value ?? Number.NaN]),
  ) as Filled<F>
