import * as z from 'zod'
import { SafetyEnvelope } from '../../../shared/wire/safety-envelope.ts'
import { TopicName, TypedTopic } from './names.ts'
import { Drive } from './twist.ts'

/** A robot whose topics the tool reaches. */
export const Ros2RobotConfig = z.strictObject({
  name: z.string().min(1).max(64).describe('Name of the device, and its identity on the cell.'),
  site: z.string().min(1).max(64).exactOptional().describe('Site, instead of that of the cell.'),
  drive: Drive.prefault({}).describe('Topic of the velocity of its base.'),
  battery: TopicName.exactOptional().describe('Topic of its sensor_msgs/msg/BatteryState.'),
  pose: TopicName.exactOptional().describe(
    'Topic of its nav_msgs/msg/Odometry, in the local frame of the site.',
  ),
  read_topics: z
    .array(TypedTopic)
    .max(64)
    .default([])
    .describe('Topics that may be read without an approval; nothing is published on them.'),
  envelope: SafetyEnvelope.exactOptional().describe('Limits of this robot.'),
})
export type Ros2RobotConfig = z.infer<typeof Ros2RobotConfig>

/** Variables of the environment that the tool receives; every other one is left out. */
const ENVIRONMENT = [
  'AMENT_PREFIX_PATH',
  'CMAKE_PREFIX_PATH',
  'COLCON_PREFIX_PATH',
  'CYCLONEDDS_URI',
  'FASTRTPS_DEFAULT_PROFILES_FILE',
  'HOME',
  'LANG',
  'LD_LIBRARY_PATH',
  'PATH',
  'PYTHONPATH',
  'RMW_IMPLEMENTATION',
  'ROS_AUTOMATIC_DISCOVERY_RANGE',
  'ROS_DISTRO',
  'ROS_DOMAIN_ID',
  'ROS_LOCALHOST_ONLY',
  'ROS_PYTHON_VERSION',
  'ROS_STATIC_PEERS',
  'ROS_VERSION',
] as const

/** Robots that the command line tool of ROS 2 reaches from this cell. */
export const Ros2LinkConfig = z.strictObject({
  kind: z.literal('ros2'),
  command: z
    .string()
    .min(1)
    .max(1024)
    .regex(/^(?!-)[^\0]*$/)
    .default('ros2')
    .describe('The tool: a name in PATH, or the path of a script that sets ROS 2 up and runs it.'),
  env: z
    .partialRecord(
      z.enum(ENVIRONMENT),
      z
        .string()
        .max(4096)
        .regex(/^[^\0]*$/),
    )
    .default({})
    .describe('Environment of the tool; what is absent here comes from that of the daemon.'),
  poll_seconds: z
    .number()
    .min(1)
    .max(3600)
    .default(5)
    .describe('Pause between two rounds of reading states.'),
  robots: z.array(Ros2RobotConfig).min(1).max(16).describe('The robots.'),
})
export type Ros2LinkConfig = z.infer<typeof Ros2LinkConfig>

/** Environment of the tool: the allowed variables of the daemon, and those of the configuration. */
export const createEnvironment = (
  { env }: Pick<Ros2LinkConfig, 'env'>,
  own: Readonly<Record<string, string | undefined>>,
): Record<string, string> =>
  Object.fromEntries(
    ENVIRONMENT.flatMap(name => {
      const value = env[name] ?? own[name]
      return value === undefined ? [] : [[name, value]]
    }),
  )
