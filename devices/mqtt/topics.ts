/** Longest topic that messages are published to, in characters. */
const MAX_TOPIC_CHARS = 512

/**
 * True for a topic that a message can be published to: no wildcard, no control character, none of the
 * broker's own (`$SYS`), and not too long.
 */
export const isPlainTopic = (topic: unknown): topic is string =>
  typeof topic === 'string' &&
  topic.length > 0 &&
  topic.length <= MAX_TOPIC_CHARS &&
  topic.isWellFormed() &&
  !/^\$|[+#\p{Cc}]/u.test(topic)

/**
 * True for the filter of a subscription (MQTT 3.1.1, section 4.7.1): `+` fills a level, and `#` is
 * the last level.
 */
export const isTopicFilter = (filter: string): boolean =>
  filter.length > 0 &&
  filter.isWellFormed() &&
  !/\p{Cc}/u.test(filter) &&
  filter.split('/').every((level, at, { length }) => {
    if (level === '+' || (level === '#' && at === length - 1)) return true
    return !/[+#]/.test(level)
  })

/** True when the filter of a subscription covers the topic (MQTT 3.1.1, section 4.7). */
export const matchesFilter = (filter: string, topic: string): boolean => {
  const levels = topic.split('/')
  const wanted = filter.split('/')
  // wildcards at the first level do not cover topics of the broker itself (section 4.7.2)
  if (topic.startsWith('$') && /^[+#]/.test(filter)) return false
  for (const [at, level] of wanted.entries()) {
    if (level === '#') return true
    if (at >= levels.length || (level !== '+' && level !== levels[at])) return false
  }
  return wanted.length === levels.length
}
