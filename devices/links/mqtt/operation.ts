import * as z from 'zod'
import { ShoalError } from '../../../shared/errors.ts'
import { PropertyName, PropertyValue } from '../../../shared/wire/device.ts'
import type { FoundDevice, MqttCommand } from './found-device.ts'

/** Operation of a plan: a publication, and the reading that confirms it. */
const MqttOperation = z.strictObject({
  topic: z.string(),
  payload: z.string(),
  confirm: z
    .strictObject({
      property: PropertyName,
      value: PropertyValue,
      within: z.number().exactOptional(),
    })
    .exactOptional(),
})
export type MqttOperation = z.infer<typeof MqttOperation>

/**
 * Reads an operation of the device's plan.
 * @throws ShoalError invalid_request for anything else
 */
export const parseOperation = (
  operation: unknown,
  { name, commands }: FoundDevice,
): MqttOperation => {
  const { data } = MqttOperation.safeParse(operation)
  const isOwn = Object.values(commands).some(command => fits(command, data?.topic))
  if (data !== undefined && isOwn) return data
  throw new ShoalError('invalid_request', `not an operation for ${name}`)
}

/** True when the topic is the one of the command, placeholders aside. */
const fits = ({ topic: own, isTemplate }: MqttCommand, topic = ''): boolean => {
  if (!isTemplate) return topic === own
  const levels = topic.split('/')
  const wanted = own.split('/')
  return (
    levels.length === wanted.length &&
    wanted.every((level, at) => level === levels[at] || level.includes('{'))
  )
}
