/** Place where the attributes of a service type state what a device is. */
export interface TxtRule {
  /** Maker of every device with this type; else the attribute `vendorKeys` names it. */
  vendor?: string
  vendorKeys?: readonly string[]
  modelKeys?: readonly string[]
  serialKeys?: readonly string[]
  firmwareKeys?: readonly string[]
  macKeys?: readonly string[]
  /** Attributes that identify the device, and the name of the scheme that defines them. */
  id?: { scheme: string; keys: readonly string[] }
  /** The same from the name of the instance: the first group is the id or the MAC address. */
  instanceId?: { scheme: string; pattern: RegExp }
  instanceMac?: RegExp
}

/** Apple, Bonjour Printing Specification 1.2.1, 9.2: `ty`, `product`, `usb_MFG`, `usb_MDL`, `UUID`. */
const PRINTER: TxtRule = {
  vendorKeys: ['usb_mfg', 'mfg'],
  modelKeys: ['ty', 'usb_mdl', 'mdl', 'product'],
  id: { scheme: 'ipp', keys: ['uuid'] },
}

/** Apple, HomeKit Accessory Protocol Specification R2, 6.4: `md` and `id`. */
const HOMEKIT: TxtRule = { modelKeys: ['md'], id: { scheme: 'hap', keys: ['id'] } }

/** AirPlay receivers: `deviceid` is a MAC address, `fv` the firmware. */
const AIRPLAY: TxtRule = {
  vendorKeys: ['manufacturer'],
  modelKeys: ['model', 'am'],
  serialKeys: ['serialnumber'],
  firmwareKeys: ['fv', 'srcvers'],
  macKeys: ['deviceid'],
  id: { scheme: 'airplay', keys: ['deviceid'] },
}

/** Web pages of storage boxes and cameras: no standard, these names are common. */
const WEB: TxtRule = {
  vendorKeys: ['vendor', 'manufacturer'],
  modelKeys: ['model'],
  serialKeys: ['serial', 'serialnumber'],
  firmwareKeys: ['fw', 'firmware', 'version'],
  macKeys: ['mac', 'mac_address'],
}

/** CSA, Matter Core Specification 1.3, 4.3.1: `VP` is vendor and product id, `DN` the name. */
const MATTER_COMMISSIONABLE: TxtRule = { modelKeys: ['vp'] }

/** Rules by service type. */
export const TXT_RULES: Readonly<Record<string, TxtRule>> = {
  '_ipp._tcp': PRINTER,
  '_ipps._tcp': PRINTER,
  '_printer._tcp': PRINTER,
  '_pdl-datastream._tcp': PRINTER,
  '_hap._tcp': HOMEKIT,
  '_hap._udp': HOMEKIT,
  // Philips Hue developer documentation, discovery: `bridgeid` is an EUI-64, `modelid` the model
  '_hue._tcp': {
    vendor: 'Signify',
    modelKeys: ['modelid'],
    macKeys: ['bridgeid'],
    id: { scheme: 'hue', keys: ['bridgeid'] },
  },
  // Shelly, Gen2+ API, mDNS: instance `shellyplus1-a8032ab12345`, `app` and `ver`
  '_shelly._tcp': {
    vendor: 'Shelly',
    modelKeys: ['app'],
    firmwareKeys: ['ver'],
    instanceId: { scheme: 'shelly', pattern: /^(shelly\w*-[0-9a-f]{6,12})$/i },
    instanceMac: /-([0-9a-f]{12})$/i,
  },
  // ESPHome, component mdns: `mac`, `version`, `board`, `project_name`
  '_esphomelib._tcp': {
    modelKeys: ['project_name', 'board'],
    firmwareKeys: ['project_version', 'version'],
    macKeys: ['mac'],
    id: { scheme: 'esphome', keys: ['mac'] },
  },
  '_googlecast._tcp': { modelKeys: ['md'], id: { scheme: 'cast', keys: ['id'] } },
  '_airplay._tcp': AIRPLAY,
  '_raop._tcp': { ...AIRPLAY, instanceMac: /^([0-9a-f]{12})@/i },
  // avahi-daemon.conf(5), publish-workstation: instance `host [aa:bb:cc:dd:ee:ff]`
  '_workstation._tcp': { instanceMac: /\[([0-9a-f:]{17})\]$/i },
  '_ssh._tcp': {},
  '_http._tcp': WEB,
  '_https._tcp': WEB,
  // Matter Core Specification 1.3, 4.3.2: instance is the fabric and the node, 64 bits each
  '_matter._tcp': {
    instanceId: { scheme: 'matter', pattern: /^([0-9a-f]{16}-[0-9a-f]{16})$/i },
  },
  '_matterc._udp': MATTER_COMMISSIONABLE,
  '_matterd._udp': MATTER_COMMISSIONABLE,
  '_shoal._tcp': {
    vendor: 'shoal',
    firmwareKeys: ['version'],
    instanceId: { scheme: 'shoal', pattern: /^([\w-]{1,64})(?: \(\d+\))?$/ },
  },
}
