import type { CveDeviceType } from '../../../fields/cve-hit.ts'

/** Widespread products of a kind of device, by `vendor:product` of the CPE dictionary of the NVD. */
export const DEVICE_PRODUCTS: Readonly<Record<CveDeviceType, readonly string[]>> = {
  router: ['mikrotik:routeros', 'openwrt:openwrt', 'netgear:r7000_firmware'],
  switch: ['arista:eos', 'cisco:nx-os', 'dell:smartfabric_os10'],
  access_point: ['arubanetworks:arubaos', 'arubanetworks:instant', 'ui:unifi_network_application'],
  camera: ['axis:axis_os', 'hikvision:ds-2cd2032-i_firmware', 'dlink:dcs-932l_firmware'],
  nvr: ['zoneminder:zoneminder', 'synology:surveillance_station', 'frigate:frigate'],
  printer: ['hp:futuresmart_5', 'openprinting:cups', 'octoprint:octoprint'],
  nas: ['synology:diskstation_manager', 'qnap:qts', 'westerndigital:my_cloud_os'],
  plc: [
    'siemens:simatic_s7-1200_firmware',
    'schneider-electric:modicon_m340_firmware',
    'codesys:codesys',
  ],
  robot: ['openrobotics:robot_operating_system', 'eprosima:fast_dds', 'eclipse:cyclonedds'],
  drone: ['dronecode:px4_drone_autopilot', 'dronecode:micro_air_vehicle_link'],
  ups: [
    'eaton:intelligent_power_manager',
    'eaton:intelligent_power_protector',
    'schneider-electric:smt_series_1015_ups_firmware',
  ],
  gpu_server: [
    'nvidia:gpu_display_driver',
    'nvidia:cuda_toolkit',
    'nvidia:triton_inference_server',
  ],
  inference_runtime: ['ollama:ollama', 'vllm:vllm', 'ggml:llama.cpp'],
  mqtt_broker: ['eclipse:mosquitto', 'emqx:nanomq'],
  smart_plug: ['tasmota_project:tasmota', 'esphome:esphome', 'shelly:pro_4pm_firmware'],
  phone: ['google:android', 'apple:iphone_os'],
  workstation: ['canonical:ubuntu_linux', 'microsoft:windows_11_24h2', 'apple:macos'],
  container_host: ['mobyproject:moby', 'linuxfoundation:containerd', 'linuxfoundation:runc'],
}
