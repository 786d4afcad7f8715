import type { MqttLinkConfig } from './config.ts'
import type { Source } from './found-device.ts'
import { createHomeAssistantSource } from './sources/home-assistant.ts'
import { createShellySource } from './sources/shelly.ts'
import { createTasmotaSource } from './sources/tasmota.ts'
import { createZigbeeSource } from './sources/zigbee2mqtt.ts'

/** Sources that the configuration names. */
export const listSources = (config: MqttLinkConfig, cellId: string): Source[] => {
  const { name, sources, tasmota_prefix, zigbee2mqtt_base, home_assistant_prefix } = config
  const create = {
    tasmota: () => createTasmotaSource(tasmota_prefix),
    shelly: () => createShellySource(`${cellId}:${name}`),
    zigbee2mqtt: () => createZigbeeSource(zigbee2mqtt_base),
    'home-assistant': () =>
      createHomeAssistantSource({
        prefix: home_assistant_prefix,
        scope: `${cellId}:${name}`,
        skipsZigbee: sources.includes('zigbee2mqtt'),
      }),
  }
  return [...new Set(sources)].map(source => create[source]())
}
