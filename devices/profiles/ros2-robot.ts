import * as z from 'zod'
import { ShoalError } from '../../shared/errors.ts'
import { TypedTopic, toAbsoluteTopic } from '../links/ros2/names.ts'
import {
  createMotion,
  createPublish,
  createRead,
  MAX_DRIVE_SECONDS,
} from '../links/ros2/operations.ts'
import { addStamp } from '../links/ros2/stamp.ts'
import { createRest, createTwist, Drive, type Velocity } from '../links/ros2/twist.ts'
import { type DeviceVerb, defineProfile, defineVerb, type PlanTarget } from '../profile.ts'
import { SHARED_PROPERTIES } from '../properties.ts'

/** Speed of automated vehicles without detection of people (ISO 3691-4); faster is unsafe. */
const SLOW_M_S = 0.3
const SLOW_RAD_S = 0.3
/** States are read every few seconds. */
const STATE_AGE_MS = 20_000
const DRIVE_TIMEOUT_S = MAX_DRIVE_SECONDS + 30
const CALL_TIMEOUT_S = 30

const Options = z.object({
  drive: Drive,
  read_topics: z.array(TypedTopic),
})
const optionsOf = ({ options }: PlanTarget) => Options.parse(options)

const isSame = (one: string, other: string): boolean =>
  toAbsoluteTopic(one) === toAbsoluteTopic(other)

const rateVelocity = ({ linear_m_s, angular_rad_s }: Velocity) => {
  if (linear_m_s === 0 && angular_rad_s === 0) return 'safe'
  const isSlow = Math.abs(linear_m_s) <= SLOW_M_S && Math.abs(angular_rad_s) <= SLOW_RAD_S
  return isSlow ? 'caution' : 'unsafe'
}

const createHaltVerb = (description: string): DeviceVerb =>
  defineVerb({
    description,
    params: z.strictObject({}),
    hazard: 'safe',
    isUrgent: true,
    isIdempotent: true,
    timeoutSeconds: CALL_TIMEOUT_S,
    atEstop: 'hold',
    plan: (_params, target) => ({ operations: [createRest(optionsOf(target).drive)] }),
  })

/** Largest message, in bytes of its JSON. */
const MAX_DATA_BYTES = 16 * 1024
const Data = z
  .record(z.string().max(128), z.json())
  .refine(data => Buffer.byteLength(JSON.stringify(data)) <= MAX_DATA_BYTES, {
    error: `is larger than ${MAX_DATA_BYTES} bytes`,
  })
  .meta({ 'x-max-bytes': MAX_DATA_BYTES })

/** Robot with a base that takes velocities, by topics of ROS 2. */
export default defineProfile({
  id: 'ros2-robot',
  title: 'Robot with ROS 2',
  kind: 'robot',
  link: 'ros2',
  properties: {
    battery_percent: SHARED_PROPERTIES.battery_percent,
    x_m: { ...SHARED_PROPERTIES.x_m, stale_after_ms: STATE_AGE_MS },
    y_m: { ...SHARED_PROPERTIES.y_m, stale_after_ms: STATE_AGE_MS },
    speed_m_s: { ...SHARED_PROPERTIES.speed_m_s, stale_after_ms: STATE_AGE_MS },
  },
  verbs: {
    drive: defineVerb({
      description: 'Drive at a velocity for a bounded time, then stand still.',
      params: z.strictObject({
        linear_m_s: z.number().min(-2).max(2).describe('Forward velocity.'),
        angular_rad_s: z.number().min(-2).max(2).default(0).describe('Turn to the left.'),
        duration_s: z.number().min(0.1).max(MAX_DRIVE_SECONDS).describe('Time of the motion.'),
      }),
      hazard: 'unsafe',
      hazardOf: rateVelocity,
      hazardRule: `safe without motion, caution up to ${SLOW_M_S} m/s and ${SLOW_RAD_S} rad/s, unsafe above`,
      isIdempotent: false,
      timeoutSeconds: DRIVE_TIMEOUT_S,
      atEstop: 'hold',
      plan: ({ linear_m_s, angular_rad_s, duration_s }, target) => {
        const { drive } = optionsOf(target)
        const twist = createTwist(drive, { linear_m_s, angular_rad_s })
        const motion = { path: [], max_speed_m_s: Math.abs(linear_m_s), max_duration_s: duration_s }
        return {
          operations: [createMotion(drive, twist, duration_s), createRest(drive)],
          motion,
        }
      },
    }),
    publish: defineVerb({
      description: 'Publish one message on a topic. No check understands its effect.',
      params: z.strictObject({ ...TypedTopic.shape, data: Data.default({}) }),
      hazard: 'unsafe',
      isIdempotent: false,
      timeoutSeconds: CALL_TIMEOUT_S,
      atEstop: 'hold',
      plan: ({ topic, msg_type, data }, target) => {
        const { drive, read_topics } = optionsOf(target)
        if (isSame(topic, drive.topic)) throw refuse(`${topic} moves the base: use the verb drive`)
        if (read_topics.some(each => isSame(each.topic, topic)))
          throw refuse(`${topic} is a read-only topic of this robot`)
        return { operations: [createPublish({ topic, msg_type }, addStamp(msg_type, data))] }
      },
    }),
    read: defineVerb({
      description: 'Read one message of a read-only topic.',
      params: TypedTopic,
      hazard: 'read',
      isIdempotent: true,
      timeoutSeconds: CALL_TIMEOUT_S,
      atEstop: 'none',
      plan: ({ topic, msg_type }, target) => {
        const found = optionsOf(target).read_topics.find(each => isSame(each.topic, topic))
        if (found === undefined || found.msg_type !== msg_type)
          throw refuse(
            `${topic} with ${msg_type} is not a read-only topic of this robot: configure it in ` +
              'read_topics, or give data to publish',
          )
        return { operations: [createRead(found)] }
      },
    }),
    stop: createHaltVerb('Stand still.'),
    hold: createHaltVerb('Stand still and stay in place.'),
  },
  envelope: { max_state_age_ms: STATE_AGE_MS },
  atEstop: 'hold',
  // the noise of an odometer at rest is some millimetres a second
  rest: [[{ property: 'speed_m_s', max: 0.05 }]],
})

const refuse = (message: string): ShoalError => new ShoalError('invalid_request', message)
