import { ShoalError } from '../../../shared/errors.ts'
import { fillTemplate } from '../../declared/template.ts'
import { isPlainTopic } from '../../mqtt/topics.ts'
import type { Json, PlanTarget } from '../../profile.ts'
import type { MqttCommand } from './found-device.ts'

/**
 * The publication for a verb, exactly as it is sent; `confirm` is the reading to wait for.
 * @throws ShoalError invalid_request when the device has no such command
 */
export const planCommand = (
  verb: string,
  params: Readonly<Record<string, unknown>>,
  { options }: Pick<PlanTarget, 'options'>,
): Json => {
  const commands = (options.commands ?? {}) as unknown as Readonly<Record<string, MqttCommand>>
  const command = Object.hasOwn(commands, verb) ? commands[verb] : undefined
  if (command === undefined)
    throw new ShoalError('invalid_request', `this device does not support ${verb}`)
  const values = { ...params, ...toBrightness(command, params) }
  const topic = fillTemplate(command.topic, values)
  // a value must not lead to another topic than the one that the command names
  if (!isPlainTopic(topic) || countLevels(topic) !== countLevels(command.topic))
    throw new ShoalError('invalid_request', `the parameters make no valid topic for ${verb}`)
  const filled = fillTemplate(command.payload, values)
  const payload = typeof filled === 'string' ? filled : JSON.stringify(filled)
  return { topic, payload, ...(command.confirm && { confirm: command.confirm }) }
}

const countLevels = (topic: string): number => topic.split('/').length

/** Brightness in the unit of the device, from `percent`. */
const toBrightness = (
  { full }: Pick<MqttCommand, 'full'>,
  { percent }: Readonly<Record<string, unknown>>,
): { brightness?: number } =>
  full === undefined || typeof percent !== 'number'
    ? {}
    : { brightness: Math.max(1, Math.round((percent * full) / 100)) }
