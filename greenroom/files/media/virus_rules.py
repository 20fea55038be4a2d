"""The built-in rules of the virus scan.

They find the test virus, and content that runs in places where nothing has to run. They are no
replacement for a scanner with daily signatures: that is ClamAV.
"""

# Rules with the tag `virus` quarantine. Those with the tag `active` refuse a file that would be
# stored as it came; in a picture, which is encoded anew, such a part is dropped with the rest.
# The test virus is written in hexadecimal, so that scanners do not take this file for one.
RULES = r"""
rule eicar : virus {
    strings:
        $plain = { 58 35 4F 21 50 25 40 41 50 5B 34 5C 50 5A 58 35 34 28 50 5E 29 37 43 43 29 37 7D
                   24 45 49 43 41 52 2D 53 54 41 4E 44 41 52 44 2D 41 4E 54 49 56 49 52 55 53 2D
                   54 45 53 54 2D 46 49 4C 45 21 24 48 2B 48 2A }
        $wide = { 24 00 45 00 49 00 43 00 41 00 52 00 2D 00 53 00 54 00 41 00 4E 00 44 00 41 00
                  52 00 44 00 2D 00 41 00 4E 00 54 00 49 00 56 00 49 00 52 00 55 00 53 00 }
    condition:
        any of them
}

rule program : active {
    condition:
        (uint16(0) == 0x5A4D and uint32(0x3c) < 0x1000 and uint32(uint32(0x3c)) == 0x00004550)
        or uint32(0) == 0x464C457F
        or uint32(0) == 0xFEEDFACF or uint32(0) == 0xFEEDFACE
        or uint32(0) == 0xCFFAEDFE or uint32(0) == 0xCEFAEDFE or uint32(0) == 0xBEBAFECA
        or uint32(0) == 0x0A786564
}

rule program_inside : active {
    strings:
        $stub = "This program cannot be run in DOS mode"
    condition:
        $stub
}

rule office_macro : active {
    strings:
        $project = "_VBA_PROJECT" wide ascii
        $part = "vbaProject.bin"
    condition:
        any of them
}

rule java_archive : active {
    strings:
        $manifest = "META-INF/MANIFEST.MF"
        $dex = "classes.dex"
    condition:
        any of them
}

rule pdf_action : active {
    strings:
        $script = "/JavaScript"
        $launch = "/Launch"
        $media = "/RichMedia"
    condition:
        any of them
}
"""
