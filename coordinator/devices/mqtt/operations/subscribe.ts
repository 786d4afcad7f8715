import * as z from 'zod'
import { DEVICE_QUESTION_PATH } from '../../../../shared/wire/device-question.ts'
import {
  MQTT_CONNECT_SECONDS,
  MQTT_SUBSCRIBE,
  MqttEnd,
  MqttSubscribeEvent,
  type MqttSubscribeInput,
} from '../../../../shared/wire/mqtt-bridge.ts'
import type { FleetViews } from '../../../fleet/cells/open.ts'
import { createCellUnavailableError } from '../../../fleet/questions/ask-cell.ts'
import { chooseDeviceCell } from '../../../fleet/questions/ask-device-question.ts'
import { streamFromCell } from '../../../fleet/questions/stream-from-cell.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { DataState, dataState } from '../../../kernel/declaration/data-state.ts'
import { MqttMessageView, messageViewOf } from './message-view.ts'

/** Bytes of a whole answer: text of control characters is six times as long in JSON. */
const MAX_ANSWER_BYTES = 8 * 1024 * 1024

/** Time of a subscription beside its own: to connect, and to answer. */
export const EXTRA_SECONDS = MQTT_CONNECT_SECONDS + 5

export const MqttSubscribeAnswer = z.object({
  data_state: DataState,
  cell_id: z.string(),
  broker: z.string().nullable().describe('Name of a configured broker; null for another one.'),
  host: z.string(),
  port: z.int(),
  topic: z.string(),
  messages: z.array(MqttMessageView),
  ended_by: MqttEnd.describe('Bound that was reached; `broker` when the broker left.'),
  /** Messages that were dropped because they were too large or too many. */
  dropped: z.int(),
})

/** Questions with the events of a subscription as their answer. */
interface SubscribeQuestion {
  name: string
  input: { topic: string }
  maxSeconds: number
}

type Parts = Pick<Context, 'signal' | 'cellId' | 'tell' | 'progress'> & Pick<FleetViews, 'fleet'>

/** Subscribes on a cell until a bound is reached, and reports each message on its way. */
export const subscribeOnCell = (
  input: z.output<typeof MqttSubscribeInput>,
  parts: Parts,
): Promise<z.input<typeof MqttSubscribeAnswer>> =>
  collectMessages({ name: MQTT_SUBSCRIBE, input, maxSeconds: input.seconds + EXTRA_SECONDS }, parts)

/** Asks a cell, and collects the messages of its answer. */
export const collectMessages = async (
  question: SubscribeQuestion,
  { fleet, cellId, signal, tell, progress }: Parts,
): Promise<z.input<typeof MqttSubscribeAnswer>> => {
  const cell = chooseDeviceCell(fleet, cellId, question.name)
  const messages: z.input<typeof MqttMessageView>[] = []
  let at: Pick<z.input<typeof MqttSubscribeAnswer>, 'broker' | 'host' | 'port'> | undefined
  for await (const event of readEvents(fleet, cell, question, signal)) {
    if (event.kind === 'subscribed') at = { broker: event.name, host: event.host, port: event.port }
    if (event.kind === 'message') {
      const view = messageViewOf(event.message)
      messages.push(view)
      if (tell === undefined) await progress({ done: messages.length })
      else await tell({ event: 'message', data: view })
    }
    if (event.kind !== 'end' || at === undefined) continue
    return {
      data_state: dataState(messages.length),
      cell_id: cell,
      ...at,
      topic: question.input.topic,
      messages,
      ended_by: event.ended_by,
      dropped: event.dropped,
    }
  }
  throw createCellUnavailableError(cell, `did not answer ${question.name}`)
}

async function* readEvents(
  fleet: FleetViews['fleet'],
  cellId: string,
  { name, input, maxSeconds }: SubscribeQuestion,
  signal: AbortSignal,
): AsyncGenerator<MqttSubscribeEvent, void, void> {
  const question = {
    path: `${DEVICE_QUESTION_PATH}${name}`,
    body: input,
    what: name,
    maxBytes: MAX_ANSWER_BYTES,
    maxSeconds,
  }
  for await (const event of streamFromCell(fleet, cellId, question, signal)) {
    if (event.type !== 'item') continue
    const { data } = MqttSubscribeEvent.safeParse(event.value)
    if (data === undefined) throw createCellUnavailableError(cellId, `did not answer ${name}`)
    yield data
  }
}
