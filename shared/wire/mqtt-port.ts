/** TCP port of plain MQTT that a coordinator offers by default. */
export const COORDINATOR_MQTT_PORT = 7071

/** TCP port that IANA has assigned to MQTT without TLS. */
export const PLAIN_MQTT_PORT = 1883
