import { MQTT_BROKERS, MqttBrokersAnswer } from '../../../../shared/wire/mqtt-bridge.ts'
import type { FleetViews } from '../../../fleet/cells/open.ts'
import {
  askDeviceQuestion,
  chooseDeviceCell,
} from '../../../fleet/questions/ask-device-question.ts'
import type { Context } from '../../../kernel/declaration/context.ts'

const MAX_ANSWER_BYTES = 4 * 1024 * 1024
const ANSWER_SECONDS = 10

/** Brokers in the configuration of the cell that is named, or of the only one that can tell. */
export const askForBrokers = async ({
  fleet,
  cellId,
  signal,
}: Pick<Context, 'signal' | 'cellId'> & Pick<FleetViews, 'fleet'>) => {
  const cell = chooseDeviceCell(fleet, cellId, MQTT_BROKERS)
  const question = {
    name: MQTT_BROKERS,
    input: {},
    answer: MqttBrokersAnswer,
    maxBytes: MAX_ANSWER_BYTES,
    maxSeconds: ANSWER_SECONDS,
  }
  const { brokers } = await askDeviceQuestion(fleet, cell, question, signal)
  return { cellId: cell, brokers }
}
