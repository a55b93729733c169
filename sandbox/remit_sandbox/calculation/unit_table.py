"""The units: names and symbols, the first of which is shown, and how many base units each is.

Factors are by definition (SI Brochure, the international yard and pound of 1959, IEC 80000-13); the calendar month
and year are a twelfth of, and, 365.2425 days.
"""

from __future__ import annotations

TABLE: dict[str, str] = {
    "length": """
        m, meter, metre, 米 = 1
        km, kilometer, kilometre, 公里, 千米 = 1000
        cm, centimeter, centimetre, 厘米 = 1/100
        mm, millimeter, millimetre, 毫米 = 1/1000
        um, micrometer, micrometre, micron, 微米 = 1/1000000
        nm, nanometer, nanometre, 纳米 = 1/1000000000
        in, inch, ", 英寸 = 0.0254
        ft, foot, ', 英尺 = 0.3048
        yd, yard, 码 = 0.9144
        mi, mile, 英里 = 1609.344
        nmi, nautical mile, 海里 = 1852
        里, li = 500
        尺, chi = 1/3
        ly, light year, 光年 = 9460730472580800
        au, astronomical unit = 149597870700
    """,
    "mass": """
        kg, kilogram, 公斤, 千克 = 1
        g, gram, 克 = 1/1000
        mg, milligram, 毫克 = 1/1000000
        ug, microgram, 微克 = 1/1000000000
        t, tonne, metric ton, 吨 = 1000
        lb, lbs, pound, 磅 = 0.45359237
        oz, ounce, 盎司 = 0.028349523125
        st, stone = 6.35029318
        short ton, us ton = 907.18474
        long ton, imperial ton = 1016.0469088
        ct, carat, 克拉 = 0.0002
        斤, jin = 0.5
        两, liang = 0.05
    """,
    "time": """
        s, sec, second, 秒 = 1
        ms, millisecond, 毫秒 = 1/1000
        us, microsecond, 微秒 = 1/1000000
        ns, nanosecond, 纳秒 = 1/1000000000
        min, minute, 分钟, 分 = 60
        h, hr, hour, 小时 = 3600
        d, day, 天, 日 = 86400
        week, wk, 周, 星期 = 604800
        fortnight = 1209600
        month, 月 = 2629746
        year, yr, 年 = 31556952
        decade = 315569520
        century = 3155695200
    """,
    "area": """
        m^2, m2, sq m, sqm, square meter, square metre, 平方米 = 1
        km^2, km2, sq km, square kilometer, square kilometre, 平方公里, 平方千米 = 1000000
        cm^2, cm2, sq cm, square centimeter, square centimetre, 平方厘米 = 1/10000
        mm^2, mm2, square millimeter, square millimetre = 1/1000000
        ha, hectare, 公顷 = 10000
        acre, 英亩 = 4046.8564224
        ft^2, ft2, sq ft, sqft, square foot, 平方英尺 = 0.09290304
        in^2, in2, sq in, square inch = 0.00064516
        yd^2, yd2, sq yd, square yard = 0.83612736
        mi^2, mi2, sq mi, square mile, 平方英里 = 2589988.110336
        亩, mu = 2000/3
    """,
    "volume": """
        L, l, liter, litre, 升 = 1
        mL, ml, milliliter, millilitre, 毫升, cc = 1/1000
        cL, cl, centiliter, centilitre = 1/100
        dL, dl, deciliter, decilitre = 1/10
        m^3, m3, cubic meter, cubic metre, 立方米 = 1000
        cm^3, cm3, cubic centimeter, cubic centimetre, 立方厘米 = 1/1000
        ft^3, ft3, cu ft, cubic foot = 28.316846592
        in^3, in3, cu in, cubic inch = 0.016387064
        us gal, gal, gallon, us gallon, 加仑 = 3.785411784
        us qt, qt, quart, us quart = 0.946352946
        us pt, pt, pint, us pint = 0.473176473
        us cup, cup = 0.2365882365
        us fl oz, fl oz, fluid ounce, us fluid ounce = 0.0295735295625
        us tbsp, tbsp, tablespoon = 0.01478676478125
        us tsp, tsp, teaspoon = 0.00492892159375
        imp gal, uk gallon, imperial gallon = 4.54609
        imp pt, uk pint, imperial pint = 0.56826125
        imp fl oz, imperial fluid ounce = 0.0284130625
        bbl, oil barrel, barrel = 158.987294928
    """,
    "speed": """
        m/s, meter/second, metre/second, 米/秒 = 1
        km/h, kph, kmh, kmph, kilometer/hour, kilometre/hour, 公里/小时, 千米/小时 = 5/18
        mph, mi/h, mile/hour, 英里/小时 = 0.44704
        kn, kt, knot, 节 = 463/900
        ft/s, fps, foot/second = 0.3048
        c, speed of light = 299792458
    """,
    "data": """
        B, byte, 字节 = 8
        bit, b, 比特 = 1
        kB, KB, kilobyte = 8000
        MB, megabyte = 8000000
        GB, gigabyte = 8000000000
        TB, terabyte = 8000000000000
        PB, petabyte = 8000000000000000
        KiB, kibibyte = 8192
        MiB, mebibyte = 8388608
        GiB, gibibyte = 8589934592
        TiB, tebibyte = 8796093022208
        PiB, pebibyte = 9007199254740992
        kbit, kb, Kb, kilobit = 1000
        Mbit, Mb, megabit = 1000000
        Gbit, Gb, gigabit = 1000000000
        Tbit, Tb, terabit = 1000000000000
    """,
    "data rate": """
        bit/s, bps, b/s = 1
        kbit/s, kbps, kb/s, Kbps = 1000
        Mbit/s, Mbps, Mb/s = 1000000
        Gbit/s, Gbps, Gb/s = 1000000000
        B/s = 8
        kB/s, KB/s = 8000
        MB/s, MBps = 8000000
        GB/s, GBps = 8000000000
        MiB/s = 8388608
    """,
    "energy": """
        J, joule, 焦耳 = 1
        kJ, kilojoule, 千焦 = 1000
        MJ, megajoule = 1000000
        cal, calorie, 卡路里 = 4.184
        kcal, kilocalorie, food calorie, 千卡, 大卡 = 4184
        Wh, watt hour = 3600
        kWh, kilowatt hour, 千瓦时 = 3600000
        MWh, megawatt hour = 3600000000
        eV, electronvolt = 1.602176634e-19
        BTU, btu = 1055.05585262
    """,
    "power": """
        W, watt, 瓦 = 1
        kW, kilowatt, 千瓦 = 1000
        MW, megawatt = 1000000
        GW, gigawatt = 1000000000
        mW, milliwatt = 1/1000
        hp, horsepower = 745.69987158227022
        PS, metric horsepower, 马力 = 735.49875
    """,
    "pressure": """
        Pa, pascal, 帕 = 1
        hPa, hectopascal = 100
        kPa, kilopascal, 千帕 = 1000
        MPa, megapascal, 兆帕 = 1000000
        bar, 巴 = 100000
        mbar, millibar = 100
        atm, atmosphere, 大气压 = 101325
        mmHg, torr = 101325/760
        psi, pound/square inch = 444822161526050/64516000000
    """,
    "force": """
        N, newton, 牛顿 = 1
        kN, kilonewton = 1000
        kgf, kilogram force = 9.80665
        lbf, pound force = 4.4482216152605
    """,
    "frequency": """
        Hz, hertz, 赫兹 = 1
        kHz, kilohertz = 1000
        MHz, megahertz = 1000000
        GHz, gigahertz = 1000000000
        rpm, 1/min = 1/60
    """,
    "angle": """
        rad, radian, 弧度 = 1
        deg, degree, ° = degree
    """,
}
"""Quantity to its units, one a line."""

TEMPERATURES = (
    (("K", "kelvin", "开尔文"), "1", "0"),
    (("°C", "C", "celsius", "centigrade", "摄氏度", "°c"), "1", "273.15"),
    (("°F", "F", "fahrenheit", "华氏度", "°f"), "5/9", "459.67"),
    (("°R", "rankine"), "5/9", "0"),
)
"""Names, kelvins in one degree, and what is added before: absolute zero in this scale, with its sign turned."""
