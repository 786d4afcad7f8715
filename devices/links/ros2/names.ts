import * as z from 'zod'

/**
 * Topic of ROS 2: names joined by single slashes, relative or absolute (ROS 2 design, "Topic and
 * Service name mapping to DDS"). It cannot begin with a dash, and so is never read as an option.
 */
export const TopicName = z
  .string()
  .max(255)
  .regex(/^\/?[A-Za-z_][A-Za-z0-9_]*(?:\/[A-Za-z_][A-Za-z0-9_]*)*$/, {
    error: 'must be the name of a ROS 2 topic, such as /cmd_vel',
  })

/** Type of a message: `geometry_msgs/msg/Twist`. */
export const MessageType = z
  .string()
  .max(255)
  .regex(/^[a-z][a-z0-9_]*\/msg\/[A-Z][A-Za-z0-9]*$/, {
    error: 'must be the type of a ROS 2 message, such as std_msgs/msg/String',
  })

/** Frame of a message, as in the tree of transforms: `base_link`, `rover_1/base_link`. */
export const FrameId = z
  .string()
  .max(255)
  .regex(/^[A-Za-z_][A-Za-z0-9_]*(?:\/[A-Za-z_][A-Za-z0-9_]*)*$/, {
    error: 'must be the name of a frame, such as base_link',
  })

/** A topic with the type of its messages. */
export const TypedTopic = z.strictObject({ topic: TopicName, msg_type: MessageType })
export type TypedTopic = z.infer<typeof TypedTopic>

/** Absolute form of a topic: the command line tool has no namespace of its own. */
export const toAbsoluteTopic = (topic: string): string =>
  topic.startsWith('/') ? topic : `/${topic}`
