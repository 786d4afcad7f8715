import { ShoalError } from '../../../shared/errors.ts'
import { fillTemplate } from '../../declared/template.ts'
import { isPlainTopic } from '../../mqtt/topics.ts'
import type { Json, PlanTarget } from '../../profile.ts'
import type { Confirmation, MqttCommand, PercentRange } from './found-device.ts'

type Params = Readonly<Record<string, unknown>>

/**
 * The publication for a verb, exactly as it is sent; `confirm` is the reading to wait for.
 * @throws ShoalError invalid_request when the device has no such command
 */
export const planCommand = (
  verb: string,
  params: Params,
  { options }: Pick<PlanTarget, 'options'>,
): Json => {
  const commands = (options.commands ?? {}) as unknown as Readonly<Record<string, MqttCommand>>
  const command = Object.hasOwn(commands, verb) ? commands[verb] : undefined
  if (command === undefined)
    throw new ShoalError('invalid_request', `this device does not support ${verb}`)
  const { topic, payload } = command.isTemplate ? fillCommand(verb, command, params) : command
  const text = typeof payload === 'string' ? payload : JSON.stringify(payload)
  return {
    topic,
    payload: text,
    ...(command.confirm && { confirm: fillConfirmation(command.confirm, params) }),
  }
}

const fillCommand = (
  verb: string,
  { topic: template, payload, range }: MqttCommand,
  params: Params,
): Pick<MqttCommand, 'topic' | 'payload'> => {
  const values = { ...params, ...(range && { level: toLevel(range, params.percent) }) }
  const topic = fillTemplate(template, values)
  // a value must not lead to another topic than the one that the command names
  if (!isPlainTopic(topic) || countLevels(topic) !== countLevels(template))
    throw new ShoalError('invalid_request', `the parameters make no valid topic for ${verb}`)
  return { topic, payload: fillTemplate(payload, values) }
}

const fillConfirmation = ({ value, ...rest }: Confirmation, params: Params): Json => ({
  ...rest,
  value: fillTemplate(value, params),
})

const countLevels = (topic: string): number => topic.split('/').length

/** The percentage in the unit of the device; only 0 % is its zero. */
const toLevel = ({ zero, full }: PercentRange, percent: unknown): number | undefined => {
  if (typeof percent !== 'number') return undefined
  const level = Math.round(zero + (percent * (full - zero)) / 100)
  return level === zero && percent > 0 ? zero + Math.sign(full - zero) : level
}
